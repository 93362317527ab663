//! Messages from legacy clients that reach a different instance from the one that needs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::backend::{Backend, MemoryEvents, MemoryInstanceRelay, MemorySessions};
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};
use tests::wait::until;

use super::on_session;
use crate::fixture;
use crate::http::support::{Served, call, initialize, next_in_time, serve_server, text};

const WITH_HTTP: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

/// A period within which an instance does not detect another one's changes by itself, which takes up to 15 s.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Serves two instances that share their sessions.
async fn serve() -> [Served; 2] {
    let limits = Limits::default();
    let (sessions, events) = (MemorySessions::new(&limits), MemoryEvents::new(&limits));
    let backend = Backend::new()
        .sessions(Arc::new(sessions))
        .events(Arc::new(events))
        .instances(Arc::new(MemoryInstanceRelay::new()));
    let serve = async || {
        let server = fixture::server().backend(backend.clone());
        serve_server(server.http(HttpOptions::new())).await
    };
    [serve().await, serve().await]
}

/// Starts a session for a client that answers questions.
pub(super) async fn asking_session(server: &Served, version: Version) -> String {
    let mut shake = initialize(version);
    let body = String::from_utf8(shake.body).unwrap();
    let can = r#""capabilities":{"elicitation":{}}"#;
    shake.body = body.replace(r#""capabilities":{}"#, can).into_bytes();
    let session = server.send(&shake).await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = Request::legacy(&session, &ready, version);
    assert_eq!(server.send(&ready).await.status, 202);
    session
}

pub(super) async fn question(stream: &mut Response) -> Value {
    loop {
        let message = next_in_time(stream).await;
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

fn answer(session: &str, id: &Value, name: &str, version: Version) -> Request {
    let result = json!({"action": "accept", "content": {"name": name}});
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    Request::legacy(session, &message, version)
}

#[tokio::test(start_paused = true)]
async fn the_memory_relay_follows_the_rules() {
    let relay = Arc::new(MemoryInstanceRelay::new());
    Backend::new().instances(relay).check().await;
}

// Covers: REQ-02, REQ-03
#[tokio::test]
async fn a_response_to_an_elicitation_is_accepted_at_any_instance() {
    let [one, two] = serve().await;
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let session = asking_session(&two, version).await;
        for (asks, receives, name) in [(&one, &two, "Ada"), (&two, &one, "Eve"), (&one, &one, "Al")]
        {
            let request = call(&session, 1, "ask_name", json!({}), version);
            let mut stream = asks.send(&request).await;
            let question = question(&mut stream).await;
            let answer = answer(&session, &question["id"], name, version);
            assert_eq!(receives.send(&answer).await.status, 202);
            let message = next_in_time(&mut stream).await;
            assert_eq!(text(&message), format!("Hello, {name}!"));
        }
    }
}

// Covers: REQ-02
#[tokio::test]
async fn a_response_for_an_unknown_instance_is_refused() {
    let [one, two] = serve().await;
    let version = Version::V2025_11_25;
    let session = asking_session(&two, version).await;
    let request = call(&session, 1, "ask_name", json!({}), version);
    let mut stream = one.send(&request).await;
    let id = question(&mut stream).await["id"].as_u64().unwrap();
    // The same number, but for an instance that does not exist.
    let gone = json!(id ^ (1 << 40));
    let late = answer(&session, &gone, "Ada", version);
    for server in [&one, &two] {
        server.refused(&late, 400, -32600).await;
    }
    // An answer that this instance is not waiting for is ignored, as always.
    let unknown = answer(&session, &json!(id + 1), "Ada", version);
    for server in [&one, &two] {
        assert_eq!(server.send(&unknown).await.status, 202);
    }
}

// Covers: CANC-01, CANC-06
#[tokio::test]
async fn a_call_is_cancelled_by_a_notification_at_any_instance() {
    let [one, two] = serve().await;
    for version in WITH_HTTP {
        let session = one.session(version).await;
        let counters = &one.shared.0;
        let (started, dropped) = (
            counters.started.load(Ordering::SeqCst),
            counters.dropped.load(Ordering::SeqCst),
        );
        let request = call(&session, 7, "wait", json!({}), version);
        let (address, waiting) = (one.address, request.clone());
        let waiting = tokio::spawn(async move { tests::http::send(address, &waiting).await });
        until(async || counters.started.load(Ordering::SeqCst) > started).await;
        let cancel = |id: u64| {
            let params = json!({"requestId": id});
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            Request::legacy(&session, &cancel, version)
        };
        for id in [8, 7] {
            assert_eq!(two.send(&cancel(id)).await.status, 202);
        }
        until(async || counters.dropped.load(Ordering::SeqCst) > dropped).await;
        assert!(waiting.await.unwrap().status < 300);
    }
}

// Covers: LOG-02, RES-07, LHTTP-12
#[tokio::test]
async fn session_changes_reach_its_other_instances_at_once() {
    let [one, two] = serve().await;
    for version in WITH_HTTP {
        let session = one.session(version).await;
        let began = Instant::now();
        let mut stream = one.send(&on_session("GET", &session)).await;
        let request = |method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            Request::legacy(&session, &message, version)
        };
        let uri = json!({"uri": "test://static"});
        let subscribe = request("resources/subscribe", uri.clone());
        assert_eq!(two.message(&subscribe).await.0, 200);
        // The change is reported once the subscription is known.
        let told = AtomicBool::new(false);
        let touch = until(async || {
            one.handle.notify().resource_updated("test://static");
            told.load(Ordering::SeqCst)
        });
        let hear = async {
            while next_in_time(&mut stream).await["params"] != uri {}
            told.store(true, Ordering::SeqCst);
        };
        tokio::join!(touch, hear);
        assert!(began.elapsed() < AT_ONCE);

        let began = Instant::now();
        assert_eq!(two.send(&on_session("DELETE", &session)).await.status, 204);
        while stream.next().await.is_some() {}
        assert!(began.elapsed() < AT_ONCE);
    }
}
