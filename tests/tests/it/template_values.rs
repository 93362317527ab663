//! Values of template variables: none leads out of a directory, in any kind of expression, unless this is allowed.

use mcp_runtime::dynamic::{Arguments, DynamicTemplate};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use tests::{Client, Version};

use crate::support::connect;

fn server() -> Server {
    Server::new("template_values", "1").only(Selected::tag("template_values"))
}

#[resource_template("simple:///{x}", tags("template_values"))]
fn simple(x: String) -> String {
    x
}

#[resource_template("reserved:///{+x}", tags("template_values"))]
fn reserved(x: &str) -> String {
    x.to_owned()
}

#[resource_template("fragment:///a{#x}", tags("template_values"))]
fn fragment(x: Option<String>) -> String {
    x.unwrap_or_default()
}

#[resource_template("label:///a{.x}", tags("template_values"))]
fn label(x: Option<String>) -> String {
    x.unwrap_or_default()
}

#[resource_template("path://{/x,y}", tags("template_values"))]
fn path(x: String, y: Option<String>) -> String {
    format!("{x}{}", y.unwrap_or_default())
}

#[resource_template("parameters:///a{;x}", tags("template_values"))]
fn parameters(x: Option<String>) -> String {
    x.unwrap_or_default()
}

#[resource_template("query:///a{?x}", tags("template_values"))]
fn query(x: Option<String>) -> String {
    x.unwrap_or_default()
}

#[resource_template("continuation:///a?b=c{&x}", tags("template_values"))]
fn continuation(x: Option<String>) -> String {
    x.unwrap_or_default()
}

#[resource_template("walked://base{/x*}", tags("template_values"))]
fn walked(x: String) -> String {
    x
}

#[resource_template("parts://base{/x*}", tags("template_values"))]
fn parts(x: Vec<String>) -> String {
    x.join("/")
}

#[resource_template("several:///{x*}", tags("template_values"))]
fn several(x: Vec<String>) -> String {
    x.join("/")
}

#[resource_template("asked:///a{?x*}", tags("template_values"))]
fn asked(x: Vec<String>) -> String {
    x.join("/")
}

#[resource_template("beside:///a{;x*}", tags("template_values"))]
fn beside(x: Vec<String>) -> String {
    x.join("/")
}

/// The URI of each template, up to the value.
const KINDS: [&str; 13] = [
    "simple:///",
    "reserved:///",
    "fragment:///a#",
    "label:///a.",
    "path:///",
    "parameters:///a;x=",
    "query:///a?x=",
    "continuation:///a?b=c&x=",
    "walked://base/",
    "parts://base/",
    "several:///",
    "asked:///a?x=",
    "beside:///a;x=",
];

/// Reads a URI; returns `None` if there is no such resource.
async fn read(client: &mut Client, uri: &str) -> Option<String> {
    let code = if client.version().is_modern() {
        -32602
    } else {
        -32002
    };
    match client.request("resources/read", json!({"uri": uri})).await {
        Ok(result) => Some(result["contents"][0]["text"].as_str().unwrap().to_owned()),
        Err(failure) => {
            assert_eq!(failure.code, code, "{uri}: {failure:?}");
            assert_eq!(failure.data["uri"], uri);
            None
        }
    }
}

// Covers: RES-05, SEC-08
#[tokio::test]
async fn no_variable_accepts_a_path_that_leaves_its_directory() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        for kind in KINDS {
            for value in [
                "%2Fetc%2Fpasswd",
                "%2f",
                "%5Cetc",
                "%5C%5Chost%5Cshare",
                "C%3A",
                "c%3a%5Cwindows",
                "C%3A%2Fa",
                "%2E%2E",
                "..%2Fa",
                "a%2F..%2Fb",
                "a%5C..",
                "a%2f%2e%2e",
                "a%00b",
            ] {
                let uri = format!("{kind}{value}");
                assert_eq!(read(&mut client, &uri).await, None, "{uri}");
            }
        }
        for uri in [
            "simple:///..",
            "reserved:////etc/passwd",
            "reserved:///../etc/passwd",
            "reserved:///a/../../b",
            "reserved:///C:/a",
            "fragment:///a#/etc/passwd",
            "fragment:///a#../b",
            "label:///a...",
            "path:///..",
            "path:///a/..",
            "path:///a/%2Fb",
            "parameters:///a;x=..",
            "query:///a?x=/etc/passwd",
            "query:///a?x=../../etc/passwd",
            "query:///a?x=C:",
            "continuation:///a?b=c&x=/etc",
            "continuation:///a?b=c&x=..",
            "walked://base//etc/passwd",
            "walked://base/a/../b",
            "parts://base//etc/passwd",
            "parts://base/a/../b",
            "several:///a,..",
            "several:///a,%2Fb",
            "asked:///a?x=b&x=..",
            "asked:///a?x=b&x=/c",
            "beside:///a;x=b;x=..",
        ] {
            assert_eq!(read(&mut client, uri).await, None, "{uri}");
        }
    }
}

// Covers: RES-05
#[tokio::test]
async fn safe_values_are_read_in_every_kind_of_expression() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for kind in KINDS {
            for (value, text) in [
                ("a", "a"),
                ("a%2Fb", "a/b"),
                ("a%2F", "a/"),
                ("a%5Cb", "a\\b"),
                ("CC%3A", "CC:"),
                ("7%3A", "7:"),
                ("10%3A30", "10:30"),
            ] {
                let uri = format!("{kind}{value}");
                assert_eq!(
                    read(&mut client, &uri).await.as_deref(),
                    Some(text),
                    "{uri}"
                );
            }
            // Dots separate the values of a label expression.
            for text in ["v1..2", "...", "a..b", "..a", "a..", ".hidden"] {
                let uri = format!("{kind}{text}");
                if kind != "label:///a." {
                    assert_eq!(
                        read(&mut client, &uri).await.as_deref(),
                        Some(text),
                        "{uri}"
                    );
                }
            }
        }
        for (uri, text) in [
            ("reserved:///a/b.txt", "a/b.txt"),
            ("reserved:///http://x/?y", "http://x/?y"),
            ("walked://base/etc/passwd", "etc/passwd"),
            ("parts://base/etc/passwd", "etc/passwd"),
            ("query:///a?x=b/c", "b/c"),
            ("query:///a", ""),
            ("path:///a/b", "ab"),
        ] {
            assert_eq!(read(&mut client, uri).await.as_deref(), Some(text), "{uri}");
        }
    }
}

#[resource_template("free:///{+x}", tags("template_values"))]
fn free(#[arg(any_path)] x: &str) -> String {
    x.to_owned()
}

#[resource_template("freeparts://base{/x*}{?y}", tags("template_values"))]
fn free_parts(#[arg(any_path)] x: Vec<String>, y: Option<String>) -> String {
    format!("{} {y:?}", x.join("/"))
}

#[tokio::test]
async fn a_variable_with_any_path_accepts_unsafe_paths() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (uri, text) in [
            ("free:////etc/passwd", Some("/etc/passwd")),
            ("free:///../a", Some("../a")),
            ("free:///C:%5Ca", Some("C:\\a")),
            ("freeparts://base//etc/..", Some("/etc/.. None")),
            // The permission applies to a single variable.
            ("freeparts://base/a?y=..", None),
        ] {
            assert_eq!(read(&mut client, uri).await.as_deref(), text, "{uri}");
        }
    }
}

// Covers: RES-05
#[tokio::test]
async fn a_template_made_at_run_time_has_the_same_values() {
    for version in Version::ERAS {
        let server = server();
        let handle = server.handle();
        let read_x =
            async |arguments: Arguments, _: Context| arguments.text("x").map(str::to_owned);
        let strict = DynamicTemplate::new("made:///{+x}", "made", read_x);
        handle.resource_templates().insert(strict).unwrap();
        let free = DynamicTemplate::new("madefree:///{+x}", "made_free", read_x).any_path("x");
        handle.resource_templates().insert(free).unwrap();
        let mut client = connect(server, version).await;
        let read_free = read(&mut client, "madefree:////etc").await;
        assert_eq!(read_free.as_deref(), Some("/etc"));
        let nothing = DynamicTemplate::new("wrong:///{x}", "wrong", read_x).any_path("y");
        let problem = handle.resource_templates().insert(nothing).unwrap_err();
        assert!(problem.to_string().contains("`y`"), "{problem}");
        assert_eq!(
            read(&mut client, "made:///a/b").await.as_deref(),
            Some("a/b")
        );
        for uri in ["made:////etc", "made:///..", "made:///C:", "made:///%00"] {
            assert_eq!(read(&mut client, uri).await, None, "{uri}");
        }
    }
}
