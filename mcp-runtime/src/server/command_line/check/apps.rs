//! Rules for apps: pages exist and can be read, load only what their policies allow, and call only tools that exist.

use mcp_schema::model_rules::Severity;
use mcp_schema::suggest::closest;
use serde_json::{Value, json};

use crate::client::InProcessClient;
use crate::client::surface::Surface;
use crate::context::Capability;
use crate::extension::apps::MIME_TYPE;
use crate::server::command_line::check::lint::Lint;
use crate::server::command_line::check::page::{OriginList, PageLoad, uses_of};

const SOURCE: &str = "MCP Apps";

/// Reads every page that is listed or named by a tool, and returns the problems found.
pub(super) async fn lint(client: &InProcessClient, surface: &Surface) -> Vec<Lint> {
    let tools = surface.items(Capability::Tools);
    let resources = surface.items(Capability::Resources).iter();
    let listed = resources.filter(|resource| resource["mimeType"] == MIME_TYPE);
    let mut uris: Vec<&str> = listed.filter_map(|page| page["uri"].as_str()).collect();
    let mut found = Vec::new();
    for tool in tools {
        if let Some(uri) = tool["_meta"]["ui"]["resourceUri"].as_str()
            && !uris.contains(&uri)
        {
            uris.push(uri);
        }
    }
    for uri in uris {
        let at = format!("page `{uri}`");
        let read = client.call("resources/read", json!({ "uri": uri })).await;
        let problems = match &read {
            Ok(result) => problems_of(&result["contents"][0], tools),
            Err(failure) => vec![format!("it cannot be read: {failure}")],
        };
        found.extend(problems.into_iter().map(|text| Lint {
            severity: Severity::Refused,
            at: at.clone(),
            text,
            source: SOURCE,
        }));
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_allows_the_origins_that_browsers_let_pass() {
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
