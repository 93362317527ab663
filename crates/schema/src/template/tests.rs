//! Tests that URIs match templates as expected, and that matching is the inverse of expansion.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::rules::template_has_variable;

fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
    let template = UriTemplate::parse(template).unwrap();
    let uri = normal_uri(uri);
    let found = template.matches(&uri)?;
    Some(
        found
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_matching_uri_yields_the_values_of_its_variables() {
    type Case = (
        &'static str,
        &'static str,
        Option<&'static [(&'static str, &'static str)]>,
    );
    let cases: &[Case] = &[
        ("notes:///{id}", "notes:///7", Some(&[("id", "7")])),
        ("notes:///{id}", "notes:///a%20b", Some(&[("id", "a b")])),
        (
            "notes:///{id}",
            "notes:///a%2520b",
            Some(&[("id", "a%20b")]),
        ),
        ("notes:///{id}", "notes:///%C3%BC", Some(&[("id", "ü")])),
        ("notes:///{id}", "notes:///a%2Fb", Some(&[("id", "a/b")])),
        ("notes:///{id}", "notes:///a/b", None),
        ("notes:///{id}", "notes:///", None),
        ("notes:///{id}", "notes:///7/", None),
        ("notes:///{id}", "notes:///%", None),
        ("notes:///{id}", "notes:///%zz", None),
        ("notes:///{id}", "notes:///%ff", None),
        ("notes:///{id}", "notes:///%00", None),
        ("notes:///{id}", "notes:///..", None),
        ("notes:///{id}", "notes:///%2e%2e%2fa", None),
        ("notes:///{id}", "notes:///..%5ca", None),
        (
            "notes:///{id}/text",
            "notes:///7/text",
            Some(&[("id", "7")]),
        ),
        ("notes:///{id}.md", "notes:///a.md", Some(&[("id", "a")])),
        (
            "notes:///{id}.md",
            "notes:///a.mdx.md",
            Some(&[("id", "a.mdx")]),
        ),
        ("a:{x},{y}", "a:1,2", Some(&[("x", "1"), ("y", "2")])),
        ("a:{x,y}", "a:1,2", Some(&[("x", "1"), ("y", "2")])),
        ("a:{x,y}", "a:1,2,3", None),
        ("a:{x}-{y}", "a:1-2", Some(&[("x", "1"), ("y", "2")])),
        (
            "file:///{+path}",
            "file:///a/b.txt",
            Some(&[("path", "a/b.txt")]),
        ),
        ("file:///{+path}", "file:///a/../b", None),
        (
            "file:///{+path}/info",
            "file:///a/info/b/info",
            Some(&[("path", "a/info/b")]),
        ),
        ("a:x{#f}", "a:x#f/1?", Some(&[("f", "f/1?")])),
        (
            "a:{+url}",
            "a:http://x/?y#z",
            Some(&[("url", "http://x/?y#z")]),
        ),
        ("a:{+x}{?q}", "a:b/c?q=1", Some(&[("x", "b/c"), ("q", "1")])),
        ("a:x{#f}", "a:x", Some(&[])),
        ("a:x{.e}", "a:x.md", Some(&[("e", "md")])),
        ("a:{/x,y}", "a:/1/2", Some(&[("x", "1"), ("y", "2")])),
        ("a:{/x,y}", "a:/1", Some(&[("x", "1")])),
        ("a:{/x,y}", "a:/1/2/3", None),
        ("a:{/x*}", "a:/1/2/3", Some(&[("x", "1/2/3")])),
        ("a:{;x,y}", "a:;x=1;y=2", Some(&[("x", "1"), ("y", "2")])),
        (
            "a:{?q,n}",
            "a:?n=2&q=a%26b",
            Some(&[("n", "2"), ("q", "a&b")]),
        ),
        ("a:{?q,n}", "a:?q=1", Some(&[("q", "1")])),
        ("a:{?q,n}", "a:", Some(&[])),
        ("a:{?q}", "a:?q=1&other=2", Some(&[("q", "1")])),
        ("a:x?v=1{&q}", "a:x?v=1&q=2", Some(&[("q", "2")])),
        ("a:{x}{?q}", "a:1?q=2", Some(&[("x", "1"), ("q", "2")])),
        (
            "repo://{owner}/{name}/blob{/path*}",
            "repo://a/b/blob/src/lib.rs",
            Some(&[("owner", "a"), ("name", "b"), ("path", "src/lib.rs")]),
        ),
        ("a:ü/{x}", "a:ü/ö", Some(&[("x", "ö")])),
        ("a:ü/{x}", "A:%c3%bc/%C3%B6", Some(&[("x", "ö")])),
        ("a:%c3%bc/{x}", "a:ü/%41", Some(&[("x", "A")])),
        ("a:%7E/{x}.md", "a:~/b%2Emd", Some(&[("x", "b")])),
        (
            "a:{x}ü{+y}",
            "a:1%C3%BC2/ü",
            Some(&[("x", "1"), ("y", "2/ü")]),
        ),
        (
            "a:{x}/é{?y}",
            "a:1/%c3%a9?y=ü",
            Some(&[("x", "1"), ("y", "ü")]),
        ),
        ("a:{x}/b", "a:1%2Fb", None),
        ("a:ü/{+x}", "a:%c3%bc/%2e%2e/b", None),
        ("a:ü/{+x}", "a:%c3%bc/%2fb", None),
    ];
    for (template, uri, expected) in cases {
        let expected = expected.map(|pairs| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<Vec<_>>()
        });
        assert_eq!(matched(template, uri), expected, "{template} {uri}");
    }
}

#[test]
fn equivalent_uris_have_one_normal_form_which_is_ascii() {
    for (uri, normal) in [
        ("docs:///a-b_c.d~e", "docs:///a-b_c.d~e"),
        ("docs:///café", "docs:///caf%C3%A9"),
        ("docs:///caf%c3%a9", "docs:///caf%C3%A9"),
        ("DOCS+x://A/b", "docs+x://A/b"),
        ("docs:///%61%2D%5f%2E%7e", "docs:///a-_.~"),
        ("docs:///a%2fb%3F%2525", "docs:///a%2Fb%3F%2525"),
        ("docs:///%2541", "docs:///%2541"),
        ("docs:///%2e%2E/é%", "docs:///../%C3%A9%"),
        ("docs:///%zz%1", "docs:///%zz%1"),
        ("docs:///%éa", "docs:///%%C3%A9a"),
        ("docs:///é/{+name}{?q*}", "docs:///%C3%A9/{+name}{?q*}"),
        ("no scheme: É", "no scheme: %C3%89"),
    ] {
        assert_eq!(normal_uri(uri), normal, "{uri}");
        assert_eq!(normal_uri(normal), normal, "{uri}");
    }
}

#[test]
fn an_exploded_variable_can_give_a_list() {
    let text = ExplodedList {
        of_text: true,
        required: true,
    };
    let json = ExplodedList {
        of_text: false,
        required: false,
    };
    for (template, list, uri, expected) in [
        ("a:{x*}", text, "a:1,b%2Cc", Some(r#"["1","b,c"]"#)),
        ("a:{/x*}", text, "a:/1/b%2Fc", Some(r#"["1","b/c"]"#)),
        ("a:{/x*}", text, "a:/1/..", None),
        ("a:{/x*}", text, "a:", Some("[]")),
        ("a:{/x*}", json, "a:/1/b", Some(r#"[1,"b"]"#)),
        ("a:{/x*}", json, "a:", Some("none")),
        ("a:{.x*}", json, "a:.1.2", Some("[1,2]")),
        ("a:b{?x*}", text, "a:b?x=1&y=2&x=3", Some(r#"["1","3"]"#)),
        ("a:b{?x*}", text, "a:b", Some("[]")),
        ("a:b{;x*}", json, "a:b;x=1;x=2", Some("[1,2]")),
    ] {
        let mut template = UriTemplate::parse(template).unwrap();
        assert!(template.explodes("x"));
        template.keep_apart("x", list);
        let found = template.matches(uri).map(|found| {
            found
                .first()
                .map_or("none".to_owned(), |(_, value)| value.clone())
        });
        assert_eq!(found.as_deref(), expected, "{uri}");
    }
}

#[test]
fn a_variable_matches_an_unsafe_path_only_if_it_allows_any_path() {
    for (template, uri, expected) in [
        ("a:{x}", "a:%2Fb", "/b"),
        ("a:{+x}", "a:/b", "/b"),
        ("a:{+x}", "a:../b", "../b"),
        ("a:{#x}", "a:#C:", "C:"),
        ("a:{.x*}", "a:...", ".."),
        ("a:{/x}", "a:/%5Cb", "\\b"),
        ("a:{/x*}", "a://b/c", "/b/c"),
        ("a:{;x}", "a:;x=a%2F..", "a/.."),
        ("a:{?x}", "a:?x=/b", "/b"),
        ("a:{?y,x}", "a:?x=/b", "/b"),
        ("a:b?c=d{&x}", "a:b?c=d&x=a%00b", "a\0b"),
    ] {
        let mut template = UriTemplate::parse(template).unwrap();
        assert_eq!(template.matches(uri), None, "{uri}");
        assert!(template.take_any_path("x"));
        assert!(!template.take_any_path("z"));
        let found = template.matches(uri).unwrap();
        assert_eq!(found, [("x", expected.to_owned())], "{uri}");
    }
    let mut template = UriTemplate::parse("a:{/x*}").unwrap();
    template.keep_apart(
        "x",
        ExplodedList {
            of_text: true,
            required: true,
        },
    );
    assert_eq!(template.matches("a://b"), None);
    assert!(template.take_any_path("x"));
    assert_eq!(template.matches("a://b").unwrap()[0].1, r#"["","b"]"#);
}

#[test]
fn an_invalid_template_is_refused_with_the_message_of_the_rule() {
    for template in ["", "a:{}", "a:{x", "a:{x:3}", "a:{x}{x}", "a:b"] {
        let problem = UriTemplate::parse(template).unwrap_err();
        assert_eq!(problem, template_syntax(template).text());
    }
}

#[test]
fn the_template_with_more_literal_text_is_more_specific() {
    let mut templates: Vec<UriTemplate> = ["a:{+x}", "a:{x}", "a:b/{x}", "a:b/{x}/{y}"]
        .into_iter()
        .map(|text| UriTemplate::parse(text).unwrap())
        .collect();
    templates.sort_by_key(|template| std::cmp::Reverse(template.specificity()));
    let variables: Vec<usize> = templates
        .iter()
        .map(|template| template.variables().len())
        .collect();
    assert_eq!(variables, [2, 1, 1, 1]);
    assert!(
        UriTemplate::parse("a:{x}").unwrap().specificity()
            > UriTemplate::parse("a:{+x}").unwrap().specificity()
    );
}

#[test]
fn matching_a_hostile_uri_ends_quickly() {
    let parts: Vec<String> = (0..50).map(|index| format!("{{x{index}}}a")).collect();
    let template = UriTemplate::parse(&format!("a:{}", parts.concat())).unwrap();
    let started = std::time::Instant::now();
    assert!(
        template
            .matches(&format!("a:{}b", "a".repeat(100_000)))
            .is_none()
    );
    assert!(started.elapsed() < std::time::Duration::from_secs(1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matching_undoes_expanding(x in ".{1,8}", y in "[^.]{1,8}") {
        for text in ["a:{x}/{y}", "a:{x,y}", "a:{/x,y}", "a:{;x,y}", "a:b{?x,y}", "a:b?c=d{&x,y}", "a:{x}{?y}", "a:{x}/{y}/end", "a:{x}{/y}", "a:{x}{;y}"] {
            let template = UriTemplate::parse(text).unwrap();
            let given: BTreeMap<&str, &str> = BTreeMap::from([("x", x.as_str()), ("y", y.as_str())]);
            let uri = template.expand(|name| given.get(name).copied());
            let found = template.matches(&uri);
            if !expression::stays_below_directory(&x) || !expression::stays_below_directory(&y) {
                prop_assert!(found.is_none(), "{} {}", text, uri);
                continue;
            }
            let found: BTreeMap<&str, String> = found.unwrap_or_else(|| panic!("{text} {uri}")).into_iter().collect();
            let given: BTreeMap<&str, String> = given.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
            prop_assert_eq!(found, given, "{} {}", text, uri);
        }
    }

    #[test]
    fn arbitrary_uris_and_templates_do_not_panic(template in "[a-z{}+#./;?&*,:%]{0,24}", uri in "[a-z{}+#./;?&*,:%=ü]{0,32}") {
        let read = UriTemplate::parse(&format!("a:{template}"));
        if let Ok(read) = read {
            let _ = read.matches(&uri);
            // The parsed template accounts for all of the text.
            for name in read.variables() {
                prop_assert!(template_has_variable(&template, name), "{}", name);
            }
            let expressions = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let names: usize = expressions.map(|list| list.split(',').count()).sum();
            prop_assert_eq!(read.variables().len(), names);
        }
    }
}
