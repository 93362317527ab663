//! Finds links in a skill's Markdown.

use std::collections::BTreeSet;

use mcp_schema::template::decode;
use pulldown_cmark::{Event, LinkType, Parser, Tag};

/// Returns the relative links and images in a Markdown file, in order and without duplicates. Links within the file are
/// omitted.
pub(super) fn relative_links(markdown: &str) -> Vec<String> {
    let mut links: Vec<String> = Vec::new();
    for event in Parser::new(markdown) {
        if let Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                ..
            }
            | Tag::Image {
                link_type,
                dest_url,
                ..
            },
        ) = event
            && link_type != LinkType::Email
            && is_relative(&dest_url)
            && !links.iter().any(|known| **known == *dest_url)
        {
            links.push(dest_url.into_string());
        }
    }
    links
}

/// Returns `true` for a path, and `false` for a URI and for a fragment of the same file.
fn is_relative(link: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let has_scheme = link
        .split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme));
    !(link.is_empty() || link.starts_with(['#', '?']) || link.starts_with("//") || has_scheme)
}

/// Returns the unescaped URI to which a relative link in the file at `base` points, or `None` if it points outside all
/// skills.
pub(super) fn target(base: &str, link: &str) -> Option<String> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    let (scheme, base) = base.split_once("://")?;
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    decode(&format!("{scheme}://{}", parts.join("/")))
}

/// Returns `true` if the unescaped URI identifies a file or a directory that contains files.
pub(super) fn exists(uri: &str, known: &BTreeSet<String>) -> bool {
    let mut known = known.iter().filter_map(|known| decode(known));
    known.any(|known| {
        let below = known.strip_prefix(uri);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_text_and_not_in_code() {
        let markdown = "[a](a.md) ![b](<b c.png> \"title\") [c][ref] [a](a.md) <https://example.com> <x@example.com>\n\
             [d](#part) [e](mailto:x@example.com) `[f](f.md)`\n\n\
             ```\n[g](g.md)\n```\n\n[ref]: ./c/d.md\n";
        assert_eq!(relative_links(markdown), ["a.md", "b c.png", "./c/d.md"]);
    }

    #[test]
    fn links_are_relative_to_their_file() {
        for (link, expected) in [
            ("a.md", Some("skill://s/dir/a.md")),
            ("./a.md#part", Some("skill://s/dir/a.md")),
            ("../b%20c.md?x", Some("skill://s/b c.md")),
            ("../../other/x", Some("skill://other/x")),
            ("../../../x", None),
            ("/etc/passwd", None),
            ("sub/", Some("skill://s/dir/sub")),
        ] {
            let found = target("skill://s/dir/file.md", link);
            assert_eq!(found.as_deref(), expected, "{link}");
        }
        let known = BTreeSet::from(["skill://s/a%20b/c.md".to_owned()]);
        for uri in ["skill://s/a b/c.md", "skill://s/a b", "skill://s"] {
            assert!(exists(uri, &known), "{uri}");
        }
        for uri in ["skill://s/a", "skill://s/a b/c", "skill://t"] {
            assert!(!exists(uri, &known), "{uri}");
        }
    }
}
