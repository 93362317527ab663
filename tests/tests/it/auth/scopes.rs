//! Scopes over HTTP: callers who lack them get a status and a challenge that names them.

use axum::Router;
use mcp_runtime::extension::ToolSearch;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use super::issuer::Issuer;
use super::{METADATA, challenge, options, session, with};
use crate::fixture::{self, Shared};
use crate::http::support::{Served, call, serve_server, text};

const NEEDED: &str = r#"scope="notes:read notes:write""#;

async fn serve(options: HttpOptions) -> Served {
    let server = fixture::server()
        .only(Selected::tag("auth"))
        .only(Selected::tag("auth-scopes"));
    serve_server(server.http(options)).await
}

fn write() -> Request {
    Request::tool("write_note", json!({}))
}

/// Returns the names of the tools in an answer.
fn names(message: &Value) -> Vec<&str> {
    let tools = message["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

// Covers: AUTH-06, AUTH-13
#[tokio::test]
async fn a_call_without_its_scopes_gets_403_with_all_required_scopes() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let narrow = issuer.token(&json!({"scope": "notes:write"}));
    let broad = issuer.token(&json!({"scope": "notes:write notes:read"}));
    let said =
        format!(r#"Bearer error="insufficient_scope", {NEEDED}, resource_metadata="{METADATA}""#);
    let mut response = server.send(&with(write(), &narrow)).await;
    assert_eq!((response.status, challenge(&response)), (403, &*said));
    let message = response.message().await;
    assert_eq!(
        message["error"]["data"]["scopes"],
        json!(["notes:read", "notes:write"])
    );
    let (status, message) = server.message(&with(write(), &broad)).await;
    assert_eq!((status, text(&message)), (200, "written"));
    for (token, shown) in [(&narrow, false), (&broad, true)] {
        let list = with(Request::modern(1, "tools/list", json!({})), token);
        let (_, message) = server.message(&list).await;
        assert_eq!(names(&message).contains(&"write_note"), shown);
    }
    // The same applies through a search.
    let search = fixture::server()
        .only(Selected::tag("auth"))
        .only(Selected::tag("auth-scopes"));
    let search = search.with(ToolSearch::above(0));
    let search = serve_server(search.http(options(&issuer))).await;
    let write = Request::tool("call_tool", json!({"name": "write_note"}));
    let response = search.send(&with(write.clone(), &narrow)).await;
    assert_eq!((response.status, challenge(&response)), (403, &*said));
    let (status, message) = search.message(&with(write, &broad)).await;
    assert_eq!((status, text(&message)), (200, "written"));
    // The same session, with either token.
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let id = session(&server, &narrow, version).await;
        let write = || call(&id, 1, "write_note", json!({}), version);
        for _ in 0..2 {
            let mut response = server.send(&with(write(), &narrow)).await;
            assert_eq!((response.status, challenge(&response)), (403, &*said));
            assert_eq!(response.message().await["id"], 1);
            let (status, message) = server.message(&with(write(), &broad)).await;
            assert_eq!((status, text(&message)), (200, "written"));
        }
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        for (token, shown) in [(&narrow, false), (&broad, true)] {
            let list = with(
                Request::legacy(&id, &list, version).answering("tools/list"),
                token,
            );
            let (_, message) = server.message(&list).await;
            assert_eq!(names(&message).contains(&"write_note"), shown);
        }
    }
}

// Covers: AUTH-03, AUTH-13
#[tokio::test]
async fn the_metadata_lists_the_scopes_of_served_definitions() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let metadata =
        Request::new("GET", Version::V2026_07_28).to("/.well-known/oauth-protected-resource");
    let document = server.send(&metadata).await.text().await;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        document["scopes_supported"],
        json!(["notes:read", "notes:write"])
    );
}

// Covers: AUTH-13
#[tokio::test]
async fn missing_scopes_without_an_http_status_are_a_json_rpc_error() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer).legacy_sse(true)).await;
    let token = issuer.token(&json!({"scope": "notes:read"}));
    let write = |id: i64| {
        let params = json!({"name": "write_note", "arguments": {}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let id = session(&server, &token, Version::V2025_03_26).await;
    let batch = Request::legacy(&id, &json!([write(1), ping]), Version::V2025_03_26);
    let mut response = server.send(&with(batch, &token)).await;
    assert_eq!(response.status, 200);
    let message: Value = serde_json::from_str(&response.text().await).unwrap();
    let codes: Vec<_> = message
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["error"]["code"])
        .collect();
    assert!(
        codes.contains(&&json!(403)) && codes.contains(&&Value::Null),
        "{message}"
    );

    let open = with(Request::new("GET", Version::V2024_11_05), &token);
    let mut stream = server.send(&open).await;
    let endpoint = stream.event().await.unwrap().data;
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let shake = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [shake, ready, write(1)] {
        let post = with(
            Request::bare(&message, Version::V2024_11_05).to(&endpoint),
            &token,
        );
        assert_eq!(server.send(&post).await.status, 202);
    }
    let _ = stream.event().await;
    let answer: Value = serde_json::from_str(&stream.event().await.unwrap().data).unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(403))
    );
}

// Covers: AUTH-05, AUTH-13
#[tokio::test]
async fn an_anonymous_caller_gets_401_for_a_scoped_call() {
    let server = fixture::server()
        .only(Selected::tag("auth"))
        .only(Selected::tag("auth-scopes"))
        .only(Selected::tag("http"));
    let service = server.state(Shared::default()).into_http_service().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = axum::serve(listener, Router::<()>::from(service));
    let task = tokio::spawn(async move { serving.await.unwrap() });
    let mut response = send(address, &write()).await;
    let said = format!("Bearer {NEEDED}");
    assert_eq!((response.status, challenge(&response)), (401, &*said));
    assert_eq!(response.message().await["error"]["code"], 403);
    task.abort();
}
