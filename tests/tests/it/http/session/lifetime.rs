//! The beginning of a session, its end, and requests outside a session.

use serde_json::json;
use tests::Version;
use tests::http::Request;

use super::{cancel, get, ping};
use crate::http::support::{call, initialize, serve, text};

// Covers: LHTTP-01, LHTTP-02, LHTTP-03, LHTTP-10, LHTTP-20, LIFE-01
#[tokio::test]
async fn every_legacy_version_gets_a_session_with_its_handshake() {
    let server = serve().await;
    for version in Version::LEGACY {
        let session = server.session(version).await;
        assert!(session.len() >= 43 && session.bytes().all(|byte| (0x21..=0x7E).contains(&byte)));
        let request = call(&session, 1, "echo", json!({"text": "hello"}), version);
        let mut response = server.send(&request).await;
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(text(&response.message().await), "hello");
        // An error at the message level is not an HTTP error.
        let unknown = json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"});
        server
            .refused(&Request::legacy(&session, &unknown, version), 200, -32601)
            .await;
    }
}

// Covers: LHTTP-11, LHTTP-12, LHTTP-13, LHTTP-14, LHTTP-17, SEC-02
#[tokio::test]
async fn only_a_session_that_is_open_is_served() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let other = server.session(Version::V2025_06_18).await;
    assert_ne!(session, other);
    let request = |session: &str| Request::legacy(session, &ping(1), Version::V2025_11_25);
    server.refused(&request("unknown"), 404, -32600).await;
    server.refused(&request(&session[1..]), 404, -32600).await;
    let bare = Request::bare(&ping(1), Version::V2025_11_25);
    server.refused(&bare, 400, -32600).await;
    server
        .refused(
            &initialize(Version::V2025_11_25).header("Mcp-Session-Id", &session),
            400,
            -32600,
        )
        .await;
    server
        .refused(
            &initialize(Version::V2025_11_25).header("Mcp-Session-Id", "x"),
            404,
            -32600,
        )
        .await;
    // The session's protocol version applies, whichever supported version the header names.
    let odd = request(&session).with("MCP-Protocol-Version", "2025-03-26");
    assert_eq!(server.message(&odd).await.0, 200);

    let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(&delete).await.status, 204);
    server.refused(&request(&session), 404, -32600).await;
    server
        .refused(&get(&session, None, Version::V2025_11_25), 404, -32600)
        .await;
    assert_eq!(server.send(&delete).await.status, 404);
    assert_eq!(server.message(&request(&other)).await.0, 200);
}

// Covers: LHTTP-15, LHTTP-16, LHTTP-17
#[tokio::test]
async fn an_unknown_version_is_refused_with_those_that_are_served() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let request = Request::legacy(&session, &ping(1), Version::V2025_11_25);
    let (status, message) = server
        .message(&request.clone().with("MCP-Protocol-Version", "1999-01-01"))
        .await;
    assert_eq!((status, &message["error"]["code"]), (400, &json!(-32600)));
    assert!(
        message["error"]["data"]["supported"]
            .as_array()
            .unwrap()
            .len()
            >= 4
    );
    let without = request.without("MCP-Protocol-Version");
    assert_eq!(server.message(&without).await.0, 200);
    for date in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let tolerated = initialize(Version::V2025_11_25).header("MCP-Protocol-Version", date);
        assert_eq!(server.message(&tolerated).await.0, 200);
    }
}

// Covers: LHTTP-02, LHTTP-14
#[tokio::test]
async fn a_response_needs_a_session_and_is_accepted_without_a_request() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let message = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
    let mut accepted = server
        .send(&Request::legacy(&session, &message, Version::V2025_11_25))
        .await;
    assert_eq!((accepted.status, &*accepted.text().await), (202, ""));
    server
        .refused(&Request::bare(&message, Version::V2025_11_25), 400, -32600)
        .await;
    server
        .refused(
            &Request::legacy("x", &message, Version::V2025_11_25),
            404,
            -32600,
        )
        .await;
    server
        .refused(
            &Request::legacy("x", &cancel(1), Version::V2025_11_25),
            404,
            -32600,
        )
        .await;
}
