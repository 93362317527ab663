//! Rules for apps: pages exist and can be read, load only what their policies allow, and call only tools that exist.

use mcp_schema::suggest::closest;
use serde_json::{Value, json};

use crate::finding::Findings;
use crate::reader::ServerReader;

const SOURCE: &str = "MCP Apps";

/// The media type of pages.
const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// A page as a host reads it.
#[derive(Debug)]
pub struct ReadPage {
    uri: String,
    /// The contents, or the reason why the page cannot be read.
    contents: Result<Value, String>,
}

/// Reads every page that is listed or that a tool names.
pub async fn read_pages(
    reader: &impl ServerReader,
    tools: &[Value],
    resources: &[Value],
) -> Vec<ReadPage> {
    let listed = resources
        .iter()
        .filter(|resource| resource["mimeType"] == MIME_TYPE);
    let listed = listed.map(|page| &page["uri"]);
    let named = tools.iter().map(|tool| &tool["_meta"]["ui"]["resourceUri"]);
    let mut pages: Vec<ReadPage> = Vec::new();
    for uri in listed.chain(named).filter_map(Value::as_str) {
        if pages.iter().any(|page| page.uri == uri) {
            continue;
        }
        let read = reader.request("resources/read", json!({"uri": uri})).await;
        pages.push(ReadPage {
            uri: uri.to_owned(),
            contents: read.map(|mut result| result["contents"][0].take()),
        });
    }
    pages
}

/// Returns the problems of pages. `tools` are those that they may call.
pub(crate) fn lint_pages(pages: &[ReadPage], tools: &[Value], found: &mut Findings) {
    for page in pages {
        found.set_subject("page", Some(&page.uri));
        let problems = match &page.contents {
            Ok(contents) => problems_of(contents, tools),
            Err(reason) => vec![format!("it cannot be read: {reason}")],
        };
        for problem in problems {
            found.push_refused(problem, SOURCE);
        }
    }
}

fn problems_of(contents: &Value, tools: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    if contents["mimeType"] != MIME_TYPE {
        problems.push(format!(
            "its media type is {}, but hosts show only `{MIME_TYPE}`",
            contents["mimeType"]
        ));
    }
    let html = contents["text"].as_str().unwrap_or_default();
    let uses = uses_of(html);
    let csp = &contents["_meta"]["ui"]["csp"];
    problems.extend(uses.loads.iter().filter_map(|load| load_problem(load, csp)));
    let names = || tools.iter().filter_map(|tool| tool["name"].as_str());
    for name in &uses.tools {
        match tools.iter().find(|tool| tool["name"] == **name) {
            None => problems.push(match closest(name, names()) {
                Some(meant) => {
                    format!(
                        "it calls the tool `{name}`, which does not exist; did you mean `{meant}`?"
                    )
                }
                None => format!("it calls the tool `{name}`, which does not exist"),
            }),
            Some(tool) => {
                let visibility = tool["_meta"]["ui"]["visibility"].as_array();
                if visibility.is_some_and(|users| !users.contains(&json!("app"))) {
                    problems.push(format!(
                        "it calls the tool `{name}`, whose `visibility` does not include `app`"
                    ));
                }
            }
        }
    }
    if html.contains("mcpApp.") && !html.contains("const mcpApp = ") {
        problems.push(
            "it uses `mcpApp` without `<script src=\"mcp-app.js\"></script>`, which is replaced with its definition"
                .to_owned(),
        );
    }
    problems
}

/// Returns the reason why a host would not load a file, if any.
fn load_problem(load: &PageLoad, csp: &Value) -> Option<String> {
    let url = load.url.as_str();
    let (member, option) = match load.list {
        OriginList::Connect => ("connectDomains", "connect_domains"),
        OriginList::Resource => ("resourceDomains", "resource_domains"),
        OriginList::Frame => ("frameDomains", "frame_domains"),
        OriginList::BaseUri => ("baseUriDomains", "base_uri_domains"),
    };
    let Some(origin) = PageOrigin::of_url(url) else {
        // Only attributes are unambiguous: a script may compute a URL, and relative URLs in a script may be data.
        let is_file = load.list == OriginList::Resource && is_relative(url);
        return is_file.then(|| {
            format!(
                "it loads `{url}`, but a host receives only the page itself; include the file in the page"
            )
        });
    };
    let allowed = csp[member].as_array().into_iter().flatten();
    let mut allowed = allowed.filter_map(|source| PageOrigin::of_url(source.as_str()?));
    if allowed.any(|source| source.allows(&origin)) {
        return None;
    }
    Some(format!(
        "it loads `{url}`, but its policy does not allow that; write `csp({option}(\"{origin}\"))`"
    ))
}

/// Returns `true` if a URL is a path, as opposed to a fragment, a URL with a scheme such as `data:`, or a URL that a
/// template assembles.
fn is_relative(url: &str) -> bool {
    let before_path = url.split(['/', '?', '#']).next().unwrap_or_default();
    !url.starts_with('#') && !before_path.contains(':') && !url.contains("${")
}

/// A scheme, a host and a port. In a policy's source, the host may begin with `*.` and the port may be `*`.
#[derive(Debug, PartialEq)]
struct PageOrigin {
    scheme: String,
    host: String,
    port: Option<String>,
}

impl PageOrigin {
    /// Returns the origin of an absolute URL, or `None` for any other URL or if the origin is assembled by a template.
    fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = match url.strip_prefix("//") {
            Some(rest) => ("https", rest),
            None => url.split_once("://")?,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https" | "ws" | "wss") || authority.contains('$') {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.to_owned())),
            None => (authority, None),
        };
        let host = host.to_ascii_lowercase();
        Some(Self { scheme, host, port })
    }

    fn port(&self) -> &str {
        let default = if matches!(self.scheme.as_str(), "http" | "ws") {
            "80"
        } else {
            "443"
        };
        self.port.as_deref().unwrap_or(default)
    }

    /// Returns `true` if a source in a policy allows this origin. An insecure scheme also allows its secure
    /// counterpart.
    fn allows(&self, origin: &Self) -> bool {
        let same_scheme = self.scheme == origin.scheme
            || matches!(
                (self.scheme.as_str(), origin.scheme.as_str()),
                ("http", "https") | ("ws", "wss")
            );
        let same_host = match self.host.strip_prefix('*') {
            Some(domain) => origin.host.len() > domain.len() && origin.host.ends_with(domain),
            None => self.host == origin.host,
        };
        let same_port = match self.port.as_deref() {
            Some("*") => true,
            Some(port) => port == origin.port(),
            None => origin.port() == self.port() || origin.port() == "443" && origin.port.is_none(),
        };
        same_scheme && same_host && same_port
    }
}

impl std::fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match &self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

// --- Finds the files that a page loads and the tools that it calls by reading its source.
//
// This covers tags, attributes and the usual calls with literal arguments, but not URLs and names that a script
// assembles at run time. Findings are compared with the page's policy in `apps`.

/// The files that a page loads and the tools that it calls.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PageUses {
    /// The files, in order and without duplicates.
    pub(crate) loads: Vec<PageLoad>,
    /// The names of the tools that the page calls through the bridge.
    pub(crate) tools: Vec<String>,
}

/// A file that a page loads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageLoad {
    pub(crate) list: OriginList,
    pub(crate) url: String,
}

/// The policy list that contains the origins from which a kind of file may be loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OriginList {
    Connect,
    Resource,
    Frame,
    BaseUri,
}

/// Finds the files and tools that a page uses.
fn uses_of(html: &str) -> PageUses {
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
    mod apps {
        use crate::pages::*;

        #[test]
        fn a_csp_source_allows_the_same_origins_as_in_browsers() {
            for (source, url, allowed) in [
                ("https://a.com", "https://a.com/x.js", true),
                ("https://a.com", "https://A.com:443/x", true),
                ("https://a.com", "//a.com/x", true),
                ("https://a.com", "http://a.com/x", false),
                ("http://a.com", "https://a.com/x", true),
                ("https://a.com", "https://b.a.com", false),
                ("https://*.a.com", "https://b.a.com", true),
                ("https://*.a.com", "https://a.com", false),
                ("https://*.a.com", "https://ba.com", false),
                ("http://localhost:*", "http://localhost:8000/x", true),
                ("https://a.com:8443", "https://a.com", false),
                ("wss://a.com", "wss://a.com/live", true),
                ("https://a.com", "wss://a.com/live", false),
            ] {
                let origins = (
                    PageOrigin::of_url(source).unwrap(),
                    PageOrigin::of_url(url).unwrap(),
                );
                assert_eq!(origins.0.allows(&origins.1), allowed, "{source} {url}");
            }
        }

        #[test]
        fn every_problem_of_a_page_is_found() {
            let tools = [
                json!({"name": "sales"}),
                json!({"name": "secret", "_meta": {"ui": {"visibility": ["model"]}}}),
            ];
            for (html, csp, problem) in [
                (
                    "<script src=https://a.com/x.js></script>",
                    json!(null),
                    "resource_domains(\"https://a.com\")",
                ),
                (
                    "<script src=https://a.com/x.js></script>",
                    json!({"resourceDomains": ["https://a.com"]}),
                    "",
                ),
                (
                    "<script>fetch('https://a.com/x')</script>",
                    json!({"resourceDomains": ["https://a.com"]}),
                    "connect_domains(",
                ),
                (
                    "<iframe src=https://a.com></iframe>",
                    json!(null),
                    "frame_domains(",
                ),
                (
                    "<base href=https://a.com>",
                    json!(null),
                    "base_uri_domains(",
                ),
                ("<script src=chart.js></script>", json!(null), "`chart.js`"),
                ("<img src='data:image/png;base64,AA=='>", json!(null), ""),
                (
                    "<script>fetch(`http://localhost:${port}/x`)</script>",
                    json!(null),
                    "",
                ),
                (
                    "<script>callTool('sale')</script>",
                    json!(null),
                    "did you mean `sales`?",
                ),
                (
                    "<script>callTool('other_thing')</script>",
                    json!(null),
                    "`other_thing`, which does not exist",
                ),
                (
                    "<script>callTool('secret')</script>",
                    json!(null),
                    "does not include `app`",
                ),
                ("<script>callTool('sales')</script>", json!(null), ""),
                (
                    "<script>mcpApp.on('tool-result', show)</script>",
                    json!(null),
                    "mcp-app.js",
                ),
            ] {
                let contents =
                    json!({"mimeType": MIME_TYPE, "text": html, "_meta": {"ui": {"csp": csp}}});
                let problems = problems_of(&contents, &tools);
                match problem {
                    "" => assert_eq!(problems, Vec::<String>::new(), "{html}"),
                    problem => assert!(
                        problems.len() == 1 && problems[0].contains(problem),
                        "{html}: {problems:?}"
                    ),
                }
            }
        }
    }

    mod page {
        use crate::pages::*;

        #[test]
        fn the_origins_that_a_page_loads_from_are_found() {
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
}
