//! Finds the files that a page loads and the tools that it calls by reading its source.
//!
//! This covers tags, attributes and the usual calls with literal arguments, but not URLs and names that a script
//! assembles at run time. Findings are compared with the page's policy in `apps`.

/// The files that a page loads and the tools that it calls.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PageUses {
    /// The files, in order and without duplicates.
    pub(super) loads: Vec<PageLoad>,
    /// The names of the tools that the page calls through the bridge.
    pub(super) tools: Vec<String>,
}

/// A file that a page loads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageLoad {
    pub(super) list: OriginList,
    pub(super) url: String,
}

/// The policy list that contains the origins from which a kind of file may be loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OriginList {
    Connect,
    Resource,
    Frame,
    BaseUri,
}

/// Finds the files and tools that a page uses.
pub(super) fn uses_of(html: &str) -> PageUses {
    let mut uses = PageUses::default();
    let mut rest = html;
    while let Some((_, from_tag)) = rest.split_once('<') {
        if let Some(comment) = from_tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let (tag, after) = read_tag(from_tag);
        rest = after;
        uses.add_tag(&tag);
        if matches!(tag.name.as_str(), "script" | "style") {
            let end = find_ignoring_case(rest, &format!("</{}", tag.name)).unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            rest = after;
            if tag.name == "script" {
                uses.add_script(text);
            } else {
                uses.add_style(text);
            }
        }
    }
    uses
}

/// The beginning of an element.
struct Tag {
    /// The name in lower case, or an empty string if the tag does not begin an element.
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(other, _)| other == name);
        found.map(|(_, value)| value.trim())
    }
}

/// Reads a tag whose `<` has been read. Also returns the text after the tag.
fn read_tag(text: &str) -> (Tag, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut tag = Tag {
        name: name.to_ascii_lowercase(),
        attributes: Vec::new(),
    };
    if name.is_empty() {
        return (tag, text);
    }
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with('>') {
            return (tag, rest.strip_prefix('>').unwrap_or(rest));
        }
        // A name has at least one character, so every step makes progress.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
        let end = rest[first..]
            .find(is_end)
            .map_or(rest.len(), |end| end + first);
        let (name, after) = rest.split_at(end);
        let after_name = after.trim_start();
        let value = match after_name.strip_prefix('=') {
            None => {
                rest = after;
                ""
            }
            Some(value) => {
                let (value, after) = read_value(value.trim_start());
                rest = after;
                value
            }
        };
        tag.attributes
            .push((name.to_ascii_lowercase(), value.replace("&amp;", "&")));
    }
}

/// Reads an attribute's value. Also returns the text after the value.
fn read_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(value) = text.strip_prefix(quote) {
            return value.split_once(quote).unwrap_or((value, ""));
        }
    }
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>');
    text.split_at(end.unwrap_or(text.len()))
}

impl PageUses {
    fn add(&mut self, list: OriginList, url: &str) {
        let url = url.trim().to_owned();
        let load = PageLoad { list, url };
        if !load.url.is_empty() && !self.loads.contains(&load) {
            self.loads.push(load);
        }
    }

    fn add_tag(&mut self, tag: &Tag) {
        let list = match tag.name.as_str() {
            "iframe" | "frame" => Some((OriginList::Frame, "src")),
            "base" => Some((OriginList::BaseUri, "href")),
            "object" => Some((OriginList::Resource, "data")),
            "link" => {
                let rel = tag
                    .attribute("rel")
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                let mut words = rel.split_ascii_whitespace();
                let loads =
                    |word| matches!(word, "stylesheet" | "icon" | "preload" | "modulepreload");
                words.any(loads).then_some((OriginList::Resource, "href"))
            }
            "script" | "img" | "audio" | "video" | "source" | "track" | "embed" | "input" => {
                Some((OriginList::Resource, "src"))
            }
            _ => None,
        };
        if let Some((list, attribute)) = list
            && let Some(url) = tag.attribute(attribute)
        {
            self.add(list, url);
        }
        if let Some(url) = tag.attribute("poster") {
            self.add(OriginList::Resource, url);
        }
        for candidate in tag.attribute("srcset").unwrap_or_default().split(", ") {
            let url = candidate.split_ascii_whitespace().next();
            self.add(OriginList::Resource, url.unwrap_or_default());
        }
        if let Some(style) = tag.attribute("style") {
            self.add_style(style);
        }
    }

    fn add_style(&mut self, css: &str) {
        for start in ["url(", "@import "] {
            for (_, after) in occurrences(css, start) {
                let url = literal(after).map_or_else(
                    || after.split([')', ';']).next().unwrap_or_default(),
                    |(url, _)| url,
                );
                if !url.starts_with("url(") {
                    self.add(OriginList::Resource, url);
                }
            }
        }
    }

    fn add_script(&mut self, script: &str) {
        let connects = ["fetch(", "WebSocket(", "EventSource(", "sendBeacon("];
        for start in connects {
            for (_, after) in occurrences(script, start) {
                if let Some((url, _)) = literal(after) {
                    self.add(OriginList::Connect, url);
                }
            }
        }
        for (_, after) in occurrences(script, ".open(") {
            let url = literal(after)
                .and_then(|(_, after)| literal(after.trim_start().strip_prefix(',')?));
            if let Some((url, _)) = url {
                self.add(OriginList::Connect, url);
            }
        }
        for start in ["import(", "import ", " from ", "importScripts(", "Worker("] {
            for (_, after) in occurrences(script, start) {
                // Prose can also contain ` from "…"`, whereas a module's name is a URL or begins with one of these.
                if let Some((url, _)) = literal(after)
                    && (url.contains("://") || url.starts_with(['.', '/']))
                {
                    self.add(OriginList::Resource, url);
                }
            }
        }
        for (_, after) in occurrences(script, "callTool(") {
            if let Some((name, _)) = literal(after)
                && !name.contains("${")
                && !self.tools.iter().any(|tool| tool == name)
            {
                self.tools.push(name.to_owned());
            }
        }
    }
}

/// Returns the text before and after each occurrence.
fn occurrences<'t>(text: &'t str, what: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    text.match_indices(what)
        .map(move |(at, _)| (&text[..at], &text[at + what.len()..]))
}

/// Returns the string literal with which the text begins, and the text after it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let (value, after) = text.get(1..)?.split_once(quote)?;
    (!value.contains('\n')).then_some((value, after))
}

fn find_ignoring_case(text: &str, what: &str) -> Option<usize> {
    let bytes = text.as_bytes().windows(what.len());
    bytes
        .into_iter()
        .position(|window| window.eq_ignore_ascii_case(what.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_loads_is_found() {
        use OriginList::{BaseUri, Connect, Frame, Resource};
        for (html, expected) in [
            ("<p>https://a.com</p>", vec![]),
            (
                "<script src='https://a.com/x.js'></script>",
                vec![(Resource, "https://a.com/x.js")],
            ),
            (
                "<SCRIPT async SRC=//a.com/x.js></SCRIPT>",
                vec![(Resource, "//a.com/x.js")],
            ),
            ("<!-- <script src=https://a.com></script> -->", vec![]),
            ("<!-- never ends <img src=a>", vec![]),
            (
                "<link rel='preload stylesheet' href=a.css>",
                vec![(Resource, "a.css")],
            ),
            ("<link rel=canonical href=https://a.com>", vec![]),
            ("<a href=https://a.com>", vec![]),
            (
                "<img src=a.png srcset='b.png 2x, c.png 3x'>",
                vec![
                    (Resource, "a.png"),
                    (Resource, "b.png"),
                    (Resource, "c.png"),
                ],
            ),
            (
                "<iframe src=https://a.com></iframe>",
                vec![(Frame, "https://a.com")],
            ),
            (
                "<base href=https://a.com/>",
                vec![(BaseUri, "https://a.com/")],
            ),
            (
                "<p style='background: url(https://a.com/b.png)'>",
                vec![(Resource, "https://a.com/b.png")],
            ),
            (
                "<style>@import \"https://a.com/b.css\"; p { background: url('c.png') }</style>",
                vec![(Resource, "c.png"), (Resource, "https://a.com/b.css")],
            ),
            (
                "<script>fetch(`https://a.com/b`); fetch('https://a.com/b')</script>",
                vec![(Connect, "https://a.com/b")],
            ),
            (
                "<script>new WebSocket(\"wss://a.com\")</script>",
                vec![(Connect, "wss://a.com")],
            ),
            (
                "<script>xhr.open('GET', 'https://a.com')</script>",
                vec![(Connect, "https://a.com")],
            ),
            (
                "<script type=module>import x from 'https://a.com/x.js'</script>",
                vec![(Resource, "https://a.com/x.js")],
            ),
            (
                "<script>fetch(url); const page = '<img src=https://a.com>'",
                vec![],
            ),
            ("<p a=é é='ü' =x><", vec![]),
            ("<img src='a", vec![(Resource, "a")]),
            ("<script>é", vec![]),
            (
                "<script>const text = 'a letter from \"Bob\"'</script>",
                vec![],
            ),
        ] {
            let found = uses_of(html).loads;
            let found: Vec<_> = found
                .iter()
                .map(|load| (load.list, load.url.as_str()))
                .collect();
            assert_eq!(found, expected, "{html}");
        }
    }

    #[test]
    fn calls_of_tools_are_found() {
        let html = "<p>callTool('no')</p><script>mcpApp.callTool('a', {}); callTool(name); callTool( \"b\"); callTool(`c${d}`)</script>";
        assert_eq!(uses_of(html).tools, ["a", "b"]);
    }
}
