//! Listing, reading and subscribing to resources.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::Value;
use tests::Version;

use crate::support::{client, raw};

async fn read(client: &mut tests::Client, uri: &str) -> Value {
    client.ok("resources/read", json!({"uri": uri})).await["contents"].clone()
}

// Covers: RES-01, RES-02
#[tokio::test]
async fn lists_contain_resources_templates_and_resources_of_listers() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let (resources, _) = client.list("resources/list", "resources").await;
        let uris: Vec<_> = resources
            .iter()
            .filter_map(|resource| resource["uri"].as_str())
            .collect();
        for uri in [
            "test://static",
            "test://binary",
            "test://json",
            "test://several",
            "item:///0",
            "item:///9",
        ] {
            assert!(uris.contains(&uri), "{uri} is not in {uris:?}");
        }
        // The definition names no media type; the return type implies one.
        let json = resources.iter().find(|one| one["uri"] == "test://json");
        assert_eq!(json.unwrap()["mimeType"], "application/json");
        let (templates, _) = client
            .list("resources/templates/list", "resourceTemplates")
            .await;
        let templates: Vec<_> = templates
            .iter()
            .filter_map(|template| template["uriTemplate"].as_str())
            .collect();
        assert_eq!(
            templates,
            [
                "item:///{id}",
                "tree:///{+path}",
                "sum:///{numbers*}{?tags*}"
            ]
        );
    }
}

#[tokio::test]
async fn lists_are_read_from_uris() {
    let mut client = client(Version::V2025_11_25).await;
    for (uri, text) in [
        ("sum:///1,2,3", "6 []"),
        ("sum:///5?tags=a&tags=b%26c", "5 [\"a\", \"b&c\"]"),
    ] {
        assert_eq!(read(&mut client, uri).await[0]["text"], text);
    }
}

// Covers: RES-03, RES-05
#[tokio::test]
async fn contents_carry_their_uri_and_type() {
    for version in Version::ALL {
        let mut client = client(version).await;
        assert_eq!(
            read(&mut client, "test://static").await,
            json!([{"uri": "test://static", "mimeType": "text/plain", "text": "static text"}])
        );
        let json = read(&mut client, "test://json").await;
        assert_eq!(json[0]["mimeType"], "application/json");
        assert_eq!(
            read(&mut client, "test://several")
                .await
                .as_array()
                .unwrap()
                .len(),
            2
        );
        assert_eq!(
            read(&mut client, "item:///7").await,
            json!([{"uri": "item:///7", "mimeType": "text/plain", "text": "item 7"}])
        );
        assert_eq!(
            read(&mut client, "tree:///a/b%20c.txt").await[0]["text"],
            "a/b c.txt"
        );
    }
}

/// A page of a book of nine.
#[resource_template("page:///{number}", tags("pages"))]
fn page(number: u32) -> Result<String> {
    if number > 9 {
        return Err(HandlerError::no_resource("the last page is 9"));
    }
    Ok(format!("page {number}"))
}

// Covers: RES-04
#[tokio::test]
async fn a_not_found_error_can_have_an_explanation() {
    for version in Version::ALL {
        let server = Server::new("book", "1").only(Selected::tag("pages"));
        let mut client = raw(server, version).connect().await;
        let code = if version.is_modern() { -32602 } else { -32002 };
        let params = json!({"uri": "page:///10"});
        let failure = client.fails("resources/read", params, code).await;
        assert_eq!(failure.message, "the last page is 9");
        assert_eq!(failure.data["uri"], "page:///10");
    }
}

// Covers: RES-04, BASE-12
#[tokio::test]
async fn a_missing_resource_is_an_error_of_its_version() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let code = if version.is_modern() { -32602 } else { -32002 };
        for uri in ["test://nothing", "item:///99", "unknown:///x", "item:///"] {
            let failure = client
                .fails("resources/read", json!({"uri": uri}), code)
                .await;
            assert_eq!(failure.data["uri"], uri);
        }
        for params in [json!({}), json!({"uri": 1}), json!({"uri": null})] {
            client.fails("resources/read", params, -32602).await;
        }
        client
            .fails("resources/read", json!({"uri": "test://panic"}), -32603)
            .await;
    }
}

// Covers: RES-05, SEC-08
#[tokio::test]
async fn a_path_cannot_leave_its_root() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        // A URI that does not match the template is unknown; a value that the parameter's type refuses is invalid.
        let not_there = if version.is_modern() { -32602 } else { -32002 };
        for path in [
            "../etc/passwd",
            "a/../../b",
            "%2e%2e/x",
            "a/%2E%2E/b",
            "/etc/passwd",
            "%2Fetc",
            "a%00b",
            "a%5C..%5Cb",
            "%ff",
        ] {
            let uri = format!("tree:///{path}");
            let params = json!({"uri": uri});
            let failure = client.fails("resources/read", params, not_there).await;
            assert_eq!(failure.data["uri"], uri);
        }
        for path in ["a//b", "./a", "a/", "a%0Ab", "a%5Cb", "%252e%252e/a"] {
            let params = json!({"uri": format!("tree:///{path}")});
            let failure = client.fails("resources/read", params, -32602).await;
            assert!(failure.message.contains("path"), "{}", failure.message);
        }
    }
}

// Covers: RES-07
#[tokio::test]
async fn a_session_is_notified_of_its_subscriptions_and_of_nothing_else() {
    for version in Version::LEGACY {
        let mut client = client(version).await;
        client.tool("touch", json!({"uri": "test://static"})).await;
        assert_eq!(client.drain().await, Vec::<Value>::new());
        client
            .ok("resources/subscribe", json!({"uri": "test://static"}))
            .await;
        client
            .ok("resources/subscribe", json!({"uri": "test://static"}))
            .await;
        client.tool("touch", json!({"uri": "test://static"})).await;
        client.tool("touch", json!({"uri": "test://json"})).await;
        let update = client.notification("notifications/resources/updated").await;
        assert_eq!(update["uri"], "test://static");
        assert_eq!(client.drain().await, Vec::<Value>::new());
        client
            .ok("resources/unsubscribe", json!({"uri": "test://static"}))
            .await;
        client
            .ok("resources/unsubscribe", json!({"uri": "test://static"}))
            .await;
        client.tool("touch", json!({"uri": "test://static"})).await;
        assert_eq!(client.drain().await, Vec::<Value>::new());
        client.fails("resources/subscribe", json!({}), -32602).await;
        client
            .fails("resources/subscribe", json!({"uri": []}), -32602)
            .await;
    }
}
