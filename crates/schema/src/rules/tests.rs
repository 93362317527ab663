//! Tables of the strings that each rule accepts and rejects.

use super::*;

/// Checks each case, which consists of a string and part of the expected message. The message is empty if the string is
/// valid.
fn check(rule: fn(&str) -> RuleVerdict, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let verdict = rule(text);
        assert_eq!(
            verdict.holds(),
            expected.is_empty(),
            "{text}: {}",
            verdict.text()
        );
        assert!(
            verdict.text().contains(expected),
            "{text}: {}",
            verdict.text()
        );
        assert_eq!(verdict.into_result().is_ok(), expected.is_empty());
    }
}

#[test]
fn tool_names_have_a_small_alphabet() {
    let long = "x".repeat(129);
    check(
        tool_name,
        &[
            ("add", ""),
            ("Notes.delete-2_x", ""),
            ("", "is empty"),
            ("add note", "contains a space"),
            ("add/note", "contains `/`"),
            ("größe", "non-ASCII"),
            ("a\nb", "a control character"),
            (&long, "too long"),
        ],
    );
}

// Covers: SEC-09
#[test]
fn an_icon_uri_must_be_https_or_data() {
    let refused = "is not an `https:` or `data:` URI";
    check(
        icon,
        &[
            ("https://example.com/icon.png", ""),
            ("HttpS://example.com", ""),
            ("data:image/png;base64,AAAA", ""),
            ("DATA:,x", ""),
            ("http://example.com/icon.png", refused),
            ("http://localhost/icon.png", refused),
            ("javascript:alert(1)", refused),
            ("file:///icon.png", refused),
            ("ws://example.com", refused),
            ("https:icon.png", refused),
            ("https://", refused),
            (" https://example.com", refused),
            ("httpsä", refused),
            ("icon.png", refused),
            ("data", refused),
            ("", refused),
        ],
    );
}

#[test]
fn headers_are_tokens() {
    check(
        header,
        &[
            ("Region", ""),
            ("x-1", ""),
            ("", "is empty"),
            ("my region", "a space"),
            ("a:b", "`:`"),
            ("é", "non-ASCII"),
        ],
    );
}

#[test]
fn scopes_are_visible_characters() {
    check(
        scope,
        &[
            ("notes:write", ""),
            ("https://example.com/auth/notes.read", ""),
            ("!", ""),
            ("", "is empty"),
            ("notes:read notes:write", "a space, which separates"),
            ("a\"b", "`\"`"),
            ("a\\b", "`\\`"),
            ("a\u{7f}", "a control character"),
            ("é", "non-ASCII"),
        ],
    );
}

#[test]
fn media_types_have_two_halves() {
    check(
        media_type,
        &[
            ("text/markdown", ""),
            ("text/plain; charset=utf-8", ""),
            ("text/plain ;charset=utf-8", ""),
            ("application/vnd.api+json", ""),
            ("", "is not of the form"),
            ("markdown", "is not of the form"),
            ("/markdown", "is not of the form"),
            ("text/", "is not of the form"),
            ("text/a/b", "is not of the form"),
            ("text / plain", "is not of the form"),
        ],
    );
}

#[test]
fn times_are_iso_8601() {
    check(
        timestamp,
        &[
            ("2026-07-28", ""),
            ("2026-07-28T12:00:00Z", ""),
            ("2026-07-28T12:00Z", ""),
            ("2026-07-28T12:00:00.5+02:00", ""),
            ("yesterday", "is not"),
            ("2026-7-28", "is not"),
            ("2026-07-28 12:00:00Z", "is not"),
            ("2026-07-28T12:00:00", "is not"),
        ],
    );
}

#[test]
fn uris_have_a_scheme() {
    check(
        uri,
        &[
            ("config://app", ""),
            ("urn:x", ""),
            ("app", "has no scheme"),
            ("/app", "has no scheme"),
            ("1a:x", "has no scheme"),
            ("notes:///{id}", "use `resource_template`"),
            ("a:b c", "`%20`"),
            ("a:b%20c", ""),
            ("a:100%", "`%25`"),
            ("a:%2", "`%25`"),
            ("a:%zz", "`%25`"),
            ("a:it's", ""),
        ],
    );
}

#[test]
fn templates_follow_rfc_6570() {
    check(
        template_syntax,
        &[
            ("notes:///{id}", ""),
            ("notes:///{+path}", ""),
            ("x:{a,b}{/c*}{?d,e}{&f}{;g}{.h}{#i}", ""),
            ("notes:///{a.b}", ""),
            ("{scheme}:x", "has no scheme"),
            ("notes:///id", "has no variable"),
            ("notes:///{id", "without `}`"),
            ("notes:///id}", "without `{`"),
            ("notes:///{}", "without a variable name"),
            ("notes:///{a,}", "without a variable name"),
            ("notes:///{+}", "without a variable name"),
            ("notes:///{id:3}", "truncates a variable"),
            ("notes:///{=id}", "operator `=`"),
            ("notes:///{a b}", "contains a space"),
            ("notes:///{a-b}", "contains `-`"),
            ("notes:///{ä}", "contains `ä`"),
            ("notes:///{a*b}", "contains `*`"),
            ("notes:///{a{b}", "contains `{`"),
            (
                "notes:///{id}/{id}",
                "names a variable twice: `id`; rename one of them",
            ),
            ("notes:///{a..b}", "contains `.`"),
            ("notes:///{a.}", "contains `.`"),
            ("notes:///{..a}", "contains `.`"),
            ("notes:///{a%20}", "contains `%`"),
            ("notes:// /{id}", "a space"),
            ("notes:///a'b/{id}", "`'`"),
            ("notes:///%zz/{id}", "encodes nothing"),
            ("notes:///%2e/{id}", ""),
            ("notes:///ü/{id}", ""),
        ],
    );
}

#[test]
fn variables_are_found_in_every_operator() {
    let template = "x:{a,b*}{/c*}{?d,e}{.h}";
    for name in ["a", "b", "c", "d", "e", "h"] {
        assert!(template_has_variable(template, name), "{name}");
    }
    for name in ["x", "", "b*", ".h", "f"] {
        assert!(!template_has_variable(template, name), "{name}");
    }
}
