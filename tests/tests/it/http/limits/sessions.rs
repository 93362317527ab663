//! Sessions, their streams and their calls.

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, write};

use super::{ping, serve};
use crate::http::support::{call, initialize, serve_with};

// Covers: LHTTP-19, SEC-02
// Limits: sessions.max_sessions
#[tokio::test]
async fn sessions_are_bounded_and_the_longest_idle_one_ends_first() {
    let server = serve(Limits::default().with(|limits| limits.sessions.max_sessions = 2)).await;
    let first = server.session(Version::V2025_11_25).await;
    let second = server.session(Version::V2025_11_25).await;
    server.message(&ping(&first)).await;
    let third = server.session(Version::V2025_11_25).await;
    assert_eq!(server.message(&ping(&second)).await.0, 404);
    for session in [&first, &third] {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(session, 1, "wait", json!({}), Version::V2025_11_25),
        )
        .await;
        std::mem::forget(stream);
    }
    server.shared.started(2).await;
    // None of them is idle at this point.
    let response = server.send(&initialize(Version::V2025_11_25)).await;
    assert_eq!(response.status, 503);
    assert!(response.header("retry-after").is_some());
}

// Covers: SEC-05
// Limits: streams.max_open
#[tokio::test]
async fn streams_of_all_clients_together_are_bounded() {
    let options = HttpOptions::new().legacy_sse(true);
    let limits = Limits::default().with(|limits| limits.streams.max_open = 3);
    let server = serve_with(options, limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let old = Request::new("GET", Version::V2024_11_05);
    // One below, and at the limit.
    let mut open = Vec::new();
    for request in [&listen, &get, &old] {
        let response = server.send(request).await;
        assert_eq!(response.status, 200);
        open.push(response);
    }
    // Above the limit, no client gets another stream, and everything else continues.
    for request in [&listen, &get, &old] {
        let mut response = server.send(request).await;
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
        assert!(response.text().await.contains("too many event streams"));
    }
    let report =
        json!({"name": "report", "arguments": {"values": [1]}, "_meta": {"progressToken": 1}});
    let mut called = server.send(&Request::modern(1, "tools/call", report)).await;
    assert_eq!(called.all().await.len(), 2);
    // One that ends makes room for another.
    open.pop();
    tests::wait::until(async || server.send(&listen).await.status == 200).await;
}

// Covers: LHTTP-19
#[tokio::test]
async fn calls_of_a_session_are_bounded_and_a_refused_one_is_answered() {
    let server = serve(Limits::default().with(|limits| limits.calls.max_running = 2)).await;
    let session = server.session(Version::V2025_11_25).await;
    let mut streams = Vec::new();
    for id in 1..=2 {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(&session, id, "wait", json!({}), Version::V2025_11_25),
        )
        .await;
        streams.push(stream);
    }
    server.shared.started(2).await;
    let (status, message) = server
        .message(&call(
            &session,
            3,
            "pause",
            json!({"ms": 1}),
            Version::V2025_11_25,
        ))
        .await;
    assert_eq!((status, &message["error"]["code"]), (200, &json!(429)));
    assert_eq!(server.message(&ping(&session)).await.0, 200);
}

// Covers: LHTTP-08, LHTTP-19
#[tokio::test]
async fn what_is_no_longer_kept_cannot_be_resumed() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_replay_events = 2;
        limits.calls.max_progress_per_second = 1_000;
    });
    let server = serve(limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let values: Vec<i32> = (0..20).collect();
    let request = call(
        &session,
        1,
        "report",
        json!({"values": values}),
        Version::V2025_11_25,
    );
    let mut stream = server.send(&request).await;
    let mut ids = Vec::new();
    while let Some(event) = stream.event().await {
        ids.extend(event.id);
    }
    let get = |id: &str| {
        Request::new("GET", Version::V2025_11_25)
            .header("Mcp-Session-Id", &session)
            .header("Last-Event-ID", id)
            .answering("tools/call")
    };
    server.refused(&get(&ids[1]), 400, -32600).await;
    let mut rest = server.send(&get(&ids[ids.len() - 2])).await;
    assert_eq!(rest.all().await.len(), 1);
}
