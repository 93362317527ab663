//! Change notifications over HTTP: none is lost, whatever the client reads and wherever its session continues.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_runtime::Limits;
use mcp_runtime::backend::MemorySessions;
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tokio::time::timeout;

use crate::http::legacy_sse::Old;
use crate::http::stores::instances;
use crate::http::support::{Served, next_in_time, serve_with};

/// Number of resources; their notifications exceed the capacity of a stream.
const RESOURCES: usize = 60;

fn uri(number: usize) -> String {
    format!("test://resource/{number}")
}

fn subscribe(number: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": number, "method": "resources/subscribe", "params": {"uri": uri(number)}})
}

async fn narrow() -> Served {
    let limits = Limits::default().with(|limits| limits.streams.max_outgoing_bytes = 2 << 10);
    serve_with(HttpOptions::new().legacy_sse(true), limits).await
}

fn get(session: &str, version: Version) -> Request {
    Request::new("GET", version)
        .header("Mcp-Session-Id", session)
        .header("MCP-Protocol-Version", version.date())
}

/// Changes all resources twice.
fn change_all(server: &Served) {
    for number in (0..RESOURCES).chain(0..RESOURCES) {
        server.handle.notify().resource_updated(uri(number));
    }
}

/// Reads until each change has been reported exactly once; returns the id of the last event.
async fn all_updates(stream: &mut Response) -> Option<String> {
    let mut left: BTreeSet<String> = (0..RESOURCES).map(uri).collect();
    let mut last = None;
    while !left.is_empty() {
        let event = timeout(PATIENCE, stream.event()).await;
        let event = event.expect("no change is lost").unwrap();
        if event.data.is_empty() {
            continue;
        }
        let told: Value = serde_json::from_str(&event.data).unwrap();
        let told = told["params"]["uri"].as_str().unwrap();
        assert!(left.remove(told), "{told} is told twice");
        last = event.id;
    }
    last
}

// Covers: LHTTP-06, RES-07
#[tokio::test]
async fn notifications_that_do_not_fit_on_a_stream_are_sent_later() {
    let server = narrow().await;
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = server.session(version).await;
        for number in 0..RESOURCES {
            let request = Request::legacy(&session, &subscribe(number), version);
            let (_, answer) = server.message(&request).await;
            assert_eq!(answer["result"], json!({}));
        }
        let mut stream = server.send(&get(&session, version)).await;
        let mut last = None;
        for _ in 0..3 {
            change_all(&server);
            last = all_updates(&mut stream).await;
        }
        // Changes that occur while the connection is down are reported, too, if the client resumes the stream.
        drop(stream);
        change_all(&server);
        let again = get(&session, version).header("Last-Event-ID", &last.unwrap());
        let mut stream = server.send(&again).await;
        all_updates(&mut stream).await;
    }
}

// Covers: SSE-05, RES-07
#[tokio::test]
async fn notifications_that_do_not_fit_on_a_2024_11_05_stream_are_sent_later() {
    let server = narrow().await;
    for version in [Version::V2024_11_05, Version::V2025_11_25] {
        let mut client = Old::open(&server, "/sse").await;
        client.shake(version).await;
        for number in 0..RESOURCES {
            assert_eq!(client.post(&subscribe(number)).await, 202);
            assert_eq!(client.next().await["result"], json!({}));
        }
        for _ in 0..3 {
            change_all(&server);
            all_updates(&mut client.stream).await;
        }
    }
}

// Covers: LHTTP-06, TOOL-17
#[tokio::test]
async fn a_session_is_notified_of_lists_changed_before_it_moved_here() {
    let limits = Limits::default();
    let sessions = Arc::new(MemorySessions::new(&limits));
    let [one, two] = instances(sessions, None, limits).await;
    for version in [Version::V2025_03_26, Version::V2025_11_25] {
        let session = one.session(version).await;
        // The other instance does not know of this change.
        one.handle.notify().tools_changed();
        let mut stream = two.send(&get(&session, version)).await;
        let mut told = BTreeSet::new();
        while !told.contains("notifications/tools/list_changed") {
            let message = next_in_time(&mut stream).await;
            let method = message["method"].as_str().unwrap().to_owned();
            assert!(told.insert(method), "told twice");
        }
        // The instance where the session began reports it, too, and nothing else.
        let mut stream = one.send(&get(&session, version)).await;
        let first = stream.next().await.unwrap();
        assert_eq!(first["method"], "notifications/tools/list_changed");
        one.handle.notify().prompts_changed();
        let second = stream.next().await.unwrap();
        assert_eq!(second["method"], "notifications/prompts/list_changed");
    }
}
