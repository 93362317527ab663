//! Each era has its own errors: clients of one era misread those of the other.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use mcp_runtime::Limits;
use mcp_runtime::backend::SessionStore;
use mcp_runtime::http::{HttpOptions, HttpSessions};
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::http::stores::Database;
use crate::http::support::{Served, call, initialize, serve, serve_with};
use crate::support::raw;

/// Returns `true` for codes and statuses by which a client recognizes a modern server.
fn is_modern_error(status: u16, message: &Value) -> bool {
    let code = message["error"]["code"].as_i64();
    matches!(code, Some(-32022..=-32020)) || (status, code) == (404, Some(-32601))
}

/// Sends the request with this header twice, and returns the status and the message.
async fn doubled(server: &Served, request: &Request, name: &str) -> (u16, Value) {
    let values = [("MCP-Protocol-Version", "2025-06-18"), ("Mcp-Name", "echo")];
    let value = values.iter().find(|(other, _)| *other == name);
    let value = value.map_or("x", |(_, value)| value);
    let has = |request: &Request| {
        let headers = request.headers.iter();
        headers
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .count()
    };
    let mut request = request.clone();
    while has(&request) < 2 {
        request = request.header(name, value);
    }
    server.message(&request).await
}

// Covers: HDR-10
#[tokio::test]
async fn a_repeated_header_is_refused_with_the_error_of_the_era() {
    let names = [
        "MCP-Protocol-Version",
        "Mcp-Session-Id",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Param-Region",
    ];
    let server = serve().await;
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = server.session(version).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut get = Request::new("GET", version).header("Mcp-Session-Id", &session);
        let mut requests = vec![
            call(&session, 1, "echo", json!({"text": "x"}), version),
            initialize(version),
            Request::legacy(&session, &ready, version),
            get.clone(),
        ];
        if version == Version::V2025_03_26 {
            let ping = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
            requests.push(Request::legacy(&session, &ping, version));
        }
        for request in &requests {
            for name in names {
                let (status, message) = doubled(&server, request, name).await;
                assert_eq!(
                    (status, &message["error"]["code"]),
                    (400, &json!(-32600)),
                    "{version:?} {name} {message}"
                );
            }
        }
        // The refused DELETE has no effect: the session still exists.
        get.verb = "DELETE";
        assert_eq!(doubled(&server, &get, "Mcp-Session-Id").await.0, 400);
        let echo = call(&session, 2, "echo", json!({"text": "x"}), version);
        assert_eq!(server.message(&echo).await.0, 200);
    }
    let modern = Request::tool("echo", json!({"text": "x"}));
    for name in names {
        let (status, message) = doubled(&server, &modern, name).await;
        let code = &message["error"]["code"];
        assert_eq!((status, code), (400, &json!(-32020)), "{name} {message}");
        assert_eq!(message["id"], 1);
    }
}

// Covers: HTTP-15
#[tokio::test]
async fn only_a_legacy_request_loads_the_session_that_it_names() {
    let database = Arc::new(Database::default());
    let store = Arc::clone(&database) as Arc<dyn SessionStore>;
    let options = HttpOptions::new().sessions(HttpSessions::Store(store));
    let server = serve_with(options, Limits::default()).await;
    let session = server.session(Version::V2025_11_25).await;
    let legacy = call(
        &session,
        1,
        "echo",
        json!({"text": "x"}),
        Version::V2025_11_25,
    );
    let modern = Request::tool("echo", json!({"text": "x"})).header("Mcp-Session-Id", &session);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    let mut broken = legacy.clone();
    broken.body = b"{".into();
    for (request, status, loads) in [
        (legacy.clone(), 200, 1),
        (modern.clone(), 200, 0),
        // The body claims a modern version, but the header names a legacy one.
        (
            modern.clone().with("MCP-Protocol-Version", "2025-11-25"),
            400,
            0,
        ),
        (modern.without("MCP-Protocol-Version"), 400, 0),
        // The header alone names a modern version.
        (legacy.with("MCP-Protocol-Version", "2026-07-28"), 400, 0),
        (
            Request::legacy(&session, &notification, Version::V2026_07_28),
            202,
            0,
        ),
        (broken, 400, 0),
    ] {
        let before = database.asked.load(SeqCst);
        assert_eq!(server.send(&request).await.status, status, "{request:?}");
        assert_eq!(database.asked.load(SeqCst) - before, loads, "{request:?}");
    }
}

// Covers: BASE-07, LHTTP-03
#[tokio::test]
async fn methods_of_the_modern_era_do_not_exist_in_sessions() {
    let methods = [
        ("subscriptions/listen", json!({"notifications": {}})),
        ("server/discover", json!({})),
    ];
    for sessions in [
        HttpSessions::Memory,
        HttpSessions::Sealed,
        HttpSessions::None,
    ] {
        let has_ids = !matches!(sessions, HttpSessions::None);
        let options = HttpOptions::new().sessions(sessions);
        let server = serve_with(options, Limits::default()).await;
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            for (method, params) in &methods {
                let message =
                    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                let bare =
                    Request::bare(&message, version).header("MCP-Protocol-Version", version.date());
                let request = if has_ids {
                    let hello = server.send(&initialize(version)).await;
                    let session = hello.header("mcp-session-id").unwrap();
                    // Without a session, it is refused, but not in the way a modern server would.
                    let (status, message) = server.message(&bare).await;
                    assert_eq!(status, 400, "{message}");
                    assert!(!is_modern_error(status, &message), "{message}");
                    let unknown = bare.clone().header("Mcp-Session-Id", "unknown");
                    server.refused(&unknown, 404, -32600).await;
                    bare.header("Mcp-Session-Id", session)
                } else {
                    bare
                };
                server.refused(&request, 200, -32601).await;
            }
        }
    }
}

// Covers: DISC-03
#[tokio::test]
async fn a_version_that_is_not_served_is_echoed_whole() {
    let version = format!("{}é\u{1}", "2".repeat(5_000));
    let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    let message = |version: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta(version)}});
    let mut client = raw(crate::fixture::server(), Version::V2026_07_28);
    client.send(&message(&version)).await;
    let failure = client.response(&json!(1)).await.unwrap_err();
    assert_eq!(failure.code, -32022);
    assert_eq!(failure.data["requested"], version);
    assert!(failure.message.len() < 500);

    // A header cannot contain control characters.
    let version = "2".repeat(5_000);
    let server = serve().await;
    let request = Request::bare(&message(&version), Version::V2026_07_28)
        .header("MCP-Protocol-Version", &version)
        .header("Mcp-Method", "tools/list");
    let (status, message) = server.message(&request).await;
    assert_eq!((status, &message["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(message["error"]["data"]["requested"], version);
}

#[tokio::test]
async fn a_number_of_any_size_is_answered_under_the_id_of_its_request() {
    let server = serve().await;
    let version = Version::V2025_11_25;
    let session = server.session(version).await;
    let arguments = json!({"a": 1, "b": "@huge@"});
    let modern = Request::tool("add", arguments.clone());
    for (mut request, id) in [
        (call(&session, 7, "add", arguments, version), 7),
        (modern, 1),
    ] {
        let body = String::from_utf8(request.body).unwrap();
        request.body = body.replace("\"@huge@\"", "1e400").into_bytes();
        let (status, message) = server.message(&request).await;
        assert_eq!((status, &message["id"]), (200, &json!(id)), "{message}");
        let text = "/b: 1e400 is too large for a number; expected integer";
        assert_eq!(message["result"]["content"][0]["text"], text);
    }
    let mut request = initialize(version);
    let body = String::from_utf8(request.body).unwrap();
    let capabilities = r#""capabilities":{"experimental":{"x":{"n":1e400}}}"#;
    request.body = body
        .replace(r#""capabilities":{}"#, capabilities)
        .into_bytes();
    let (status, message) = server.message(&request).await;
    assert_eq!((status, &message["id"]), (200, &json!(0)), "{message}");
}
