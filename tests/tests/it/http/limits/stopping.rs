//! A server that is being stopped, and a handler that blocks its thread.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, response, write};

use super::serve;
use crate::http::support::call;

// Covers: LIFE-11
#[tokio::test]
async fn a_server_that_is_stopped_finishes_running_calls() {
    let server = serve(Limits::default()).await;
    let session = server.session(Version::V2025_11_25).await;
    let mut waiting = Vec::new();
    for request in [
        Request::tool("wait", json!({})),
        call(&session, 1, "wait", json!({}), Version::V2025_11_25),
    ] {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        waiting.push((stream, request));
    }
    server.shared.started(2).await;
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let mut open = server.send(&get).await;
    let shared = server.shared.clone();
    server.handle.shut_down();
    assert_eq!(open.all().await.len(), 0);
    shared.0.go_on.notify_waiters();
    for (stream, request) in waiting {
        let mut answer = response(stream, &request).await.unwrap();
        assert_eq!(
            crate::http::support::text(&answer.message().await),
            "waited"
        );
    }
    server.refused_connection().await;
}

// Covers: LIFE-11
#[tokio::test]
async fn a_server_that_is_stopped_waits_only_for_the_drain_timeout() {
    let server = serve(
        Limits::default().with(|limits| limits.calls.drain_timeout = Duration::from_millis(100)),
    )
    .await;
    let session = server.session(Version::V2025_11_25).await;
    let mut streams = Vec::new();
    for request in [
        Request::tool("wait", json!({})),
        call(&session, 1, "wait", json!({}), Version::V2025_11_25),
    ] {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        streams.push(stream);
    }
    server.shared.started(2).await;
    let shared = server.shared.clone();
    server.handle.shut_down();
    server.refused_connection().await;
    shared.dropped(2).await;
}

// Covers: LIFE-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_holds_up_no_other_call() {
    let server = serve(Limits::default()).await;
    for _ in 0..3 {
        let mut stream = connect(server.address).await;
        let hog = Request::tool("hog", json!({}));
        write(&mut stream, &hog).await;
        server.shared.started(1).await;
        // Another call is answered while the thread is blocked.
        let other = server.message(&Request::tool("nothing", json!({}))).await;
        assert_eq!(other.0, 200);
        assert!(!*server.shared.0.released.lock().unwrap());
        server.shared.release(true);
        assert_eq!(response(stream, &hog).await.unwrap().status, 200);
        server.shared.release(false);
        server
            .shared
            .0
            .started
            .store(0, std::sync::atomic::Ordering::SeqCst);
    }
}
