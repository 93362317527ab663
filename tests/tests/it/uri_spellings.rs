//! Equivalent URIs are one resource, however they are written, and those in lists are ASCII.

use mcp_runtime::Caller;
use mcp_runtime::dynamic::{DynamicResource, DynamicTemplate, DynamicTool};
use mcp_runtime::handler::Page;
use mcp_runtime::middleware::{Call, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{ErrorKind, Selected};
use mcp_runtime::types::Resource;
use serde_json::Value;
use tests::{Client, Version};

use crate::support::{connect, raw};

/// A page of the café.
#[resource_template("docs:///café/{name}", tags("uri_spellings"), list = pages)]
fn page(#[complete(names)] name: String) -> String {
    format!("page {name}")
}

async fn pages() -> Result<Page<Resource>> {
    let menu = Resource::new("docs:///café/menü", "menu");
    let sign = Resource::new("docs:///caf%c3%a9-sign", "the sign again");
    Ok(Page::new([menu, sign]))
}

#[completer]
fn names(partial: &str) -> Vec<String> {
    vec![format!("{partial}!")]
}

/// The sign at the door.
#[resource("docs:///café-sign", tags("uri_spellings"))]
fn sign() -> &'static str {
    "open"
}

/// For nobody.
#[resource("docs:///secret", tags("uri_spellings"), visible_if = nobody)]
fn secret() -> &'static str {
    "secret"
}

fn nobody(_: &Caller) -> bool {
    false
}

/// A file.
#[resource_template("files:///übung/{+path}", tags("uri_spellings"))]
fn file(path: String) -> String {
    path
}

/// Says that a resource has changed.
#[tool(tags("uri_spellings"))]
fn touch_uri(ctx: &Context, uri: &str) {
    ctx.server().notify().resource_updated(uri);
}

/// A page of the menu.
#[app("tests/it/apps/probe.html", uri = "ui://café/menü")]
struct Menu;

/// Shows the menu.
#[tool(tags("uri_spellings_of_pages"), app = Menu)]
fn show_menu() {}

fn server() -> Server {
    Server::new("uri_spellings", "1").only(Selected::tag("uri_spellings"))
}

/// Reads a resource; returns the URI and the text of its contents, or `None` if there is no such resource.
async fn read(client: &mut Client, uri: &str) -> Option<(String, String)> {
    match client.request("resources/read", json!({"uri": uri})).await {
        Ok(result) => {
            let contents = &result["contents"][0];
            let string = |name: &str| contents[name].as_str().unwrap().to_owned();
            Some((string("uri"), string("text")))
        }
        Err(failure) => {
            assert_eq!(failure.data["uri"], uri, "{failure:?}");
            None
        }
    }
}

// Covers: RES-03, RES-05
#[tokio::test]
async fn a_resource_is_read_under_every_spelling_of_its_uri() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        for (uri, text) in [
            ("docs:///café/a.txt", Some("page a.txt")),
            ("docs:///caf%C3%A9/a.txt", Some("page a.txt")),
            ("docs:///caf%c3%a9/a%2etxt", Some("page a.txt")),
            ("DOCS:///c%61fé/ü", Some("page ü")),
            ("docs:///caf%C3%A9/%c3%bc", Some("page ü")),
            ("docs:///café-sign", Some("open")),
            ("docs:///caf%c3%a9%2Dsign", Some("open")),
            ("files:///%C3%BCbung/a/ö%2fb", Some("a/ö/b")),
            ("docs:///cafe/a.txt", None),
            ("docs:///caf%25C3%25A9/a.txt", None),
            ("docs:///café%2Fa.txt", None),
            ("docs:///secret", None),
            ("docs:///%73ecret", None),
            ("files:///übung/%2e%2e/a", None),
            ("files:///%c3%bcbung/a/.%2E", None),
            ("files:///übung/%2Fetc", None),
        ] {
            // Contents have a valid URI, even if the client did not write one.
            let shown = match uri {
                "docs:///café/a.txt" => "docs:///caf%C3%A9/a.txt",
                "DOCS:///c%61fé/ü" => "docs:///caf%C3%A9/%C3%BC",
                "docs:///café-sign" => "docs:///caf%C3%A9-sign",
                "files:///%C3%BCbung/a/ö%2fb" => "files:///%C3%BCbung/a/%C3%B6%2Fb",
                uri => uri,
            };
            let expected = text.map(|text| (shown.to_owned(), text.to_owned()));
            assert_eq!(read(&mut client, uri).await, expected, "{uri}");
        }
    }
}

// Covers: RES-01, RES-02
#[tokio::test]
async fn listed_uris_are_ascii_and_listed_once() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let of = |items: Vec<Value>, member: &str| -> Vec<String> {
            let items = items.iter();
            items
                .map(|item| item[member].as_str().unwrap().to_owned())
                .collect()
        };
        let (resources, _) = client.list("resources/list", "resources").await;
        let expected = ["docs:///caf%C3%A9-sign", "docs:///caf%C3%A9/men%C3%BC"];
        assert_eq!(of(resources, "uri"), expected);
        let method = "resources/templates/list";
        let (templates, _) = client.list(method, "resourceTemplates").await;
        let expected = ["docs:///caf%C3%A9/{name}", "files:///%C3%BCbung/{+path}"];
        assert_eq!(of(templates, "uriTemplate"), expected);
    }
}

#[tokio::test]
async fn a_tool_names_its_page_as_the_page_is_listed() {
    for version in Version::ERAS {
        let server =
            Server::new("uri_spellings", "1").only(Selected::tag("uri_spellings_of_pages"));
        let mut client = connect(server, version).await;
        let uri = "ui://caf%C3%A9/men%C3%BC";
        let (tools, _) = client.list("tools/list", "tools").await;
        assert_eq!(tools[0]["_meta"]["ui"]["resourceUri"], uri);
        let (pages, _) = client.list("resources/list", "resources").await;
        assert_eq!(pages[0]["uri"], uri);
    }
}

#[tokio::test]
async fn a_page_is_selected_with_a_tool_that_writes_its_uri_in_another_way() {
    for version in Version::ERAS {
        let server =
            Server::new("uri_spellings", "1").only(Selected::tag("uri_spellings_of_pages"));
        let open = async |_: mcp_runtime::dynamic::Arguments, _: Context| "open";
        let tool = DynamicTool::new("open_menu", json!({"type": "object"}), open)
            .meta("ui", json!({"resourceUri": "ui://caf%c3%a9/menü"}))
            .tags(["open_menu"]);
        server.handle().tools().insert(tool).unwrap();
        let mut client = connect(server.filter_tags("open_menu"), version).await;
        let (pages, _) = client.list("resources/list", "resources").await;
        assert_eq!(pages[0]["uri"], "ui://caf%C3%A9/men%C3%BC");
    }
}

// Covers: COMP-01
#[tokio::test]
async fn a_completion_finds_its_template_under_every_spelling() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for uri in [
            "docs:///caf%C3%A9/{name}",
            "docs:///café/{name}",
            "docs:///caf%c3%a9/a",
        ] {
            let reference = json!({"type": "ref/resource", "uri": uri});
            let argument = json!({"name": "name", "value": "a"});
            let params = json!({"ref": reference, "argument": argument});
            let result = client.ok("completion/complete", params).await;
            assert_eq!(result["completion"]["values"], json!(["a!"]), "{uri}");
        }
    }
}

/// The ways in which the tests below write one URI.
const SPELLINGS: [&str; 3] = [
    "docs:///café-sign",
    "docs:///caf%C3%A9-sign",
    "docs:///caf%c3%a9%2dsign",
];

// Covers: RES-08
#[tokio::test]
async fn an_update_notification_has_the_uri_spelling_of_the_subscriber() {
    for changed in SPELLINGS {
        for followed in SPELLINGS {
            let mut client = connect(server(), Version::V2026_07_28).await;
            let filter = json!({"resourceSubscriptions": [followed]});
            assert_eq!(client.listen("l", filter.clone()).await, filter);
            client.tool("touch_uri", json!({"uri": changed})).await;
            let told = client.notification("notifications/resources/updated").await;
            assert_eq!(told["uri"], followed, "{changed}");

            let mut client = connect(server(), Version::V2025_11_25).await;
            let params = json!({"uri": followed});
            client.ok("resources/subscribe", params).await;
            client.tool("touch_uri", json!({"uri": changed})).await;
            let told = client.notification("notifications/resources/updated").await;
            assert_eq!(told["uri"], followed, "{changed}");
            let params = json!({"uri": changed});
            client.ok("resources/unsubscribe", params).await;
            client.tool("touch_uri", json!({"uri": changed})).await;
            assert_eq!(client.drain().await, Vec::<Value>::new());
        }
    }
}

#[tokio::test]
async fn middleware_sees_the_normalized_uri() {
    for version in Version::ERAS {
        let server = server().middleware(async |call: Call, next: Next| {
            assert!(call.name().is_ascii(), "{}", call.name());
            if call.name() == "docs:///caf%C3%A9-sign" {
                return Err(HandlerError::exposed("closed"));
            }
            next.run(call).await
        });
        let mut client = connect(server, version).await;
        for uri in SPELLINGS {
            let refused = client.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(refused.unwrap_err().message, "closed", "{uri}");
        }
        let reference = json!({"type": "ref/resource", "uri": "docs:///café/{name}"});
        let params = json!({"ref": reference, "argument": {"name": "name", "value": "a"}});
        client.ok("completion/complete", params).await;
    }
}

#[tokio::test]
async fn a_definition_made_at_run_time_has_one_uri_however_it_is_written() {
    let server = server();
    let handle = server.handle();
    let bell = |uri: &str| DynamicResource::new(uri, "bell", async |_: Context| "rings");
    handle.resources().insert(bell("bells:///größe")).unwrap();
    let template = DynamicTemplate::new(
        "bells:///töne/{tone}",
        "tone",
        async |arguments: mcp_runtime::dynamic::Arguments, _: Context| {
            arguments.text("tone").unwrap_or_default().to_owned()
        },
    );
    handle.resource_templates().insert(template).unwrap();
    let mut client = raw(server, Version::V2026_07_28).connect().await;
    let uri = "bells:///gr%c3%b6%C3%9Fe";
    let expected = Some((uri.to_owned(), "rings".to_owned()));
    assert_eq!(read(&mut client, uri).await, expected);
    let tone = read(&mut client, "bells:///t%C3%B6ne/a").await.unwrap();
    assert_eq!(tone.1, "a");
    let twice = handle.resources().insert(bell(uri)).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Duplicate);
    assert!(handle.resources().remove(uri));
    assert_eq!(read(&mut client, "bells:///größe").await, None);
}
