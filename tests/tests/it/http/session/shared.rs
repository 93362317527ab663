//! Sessions that several instances share and that outlive these instances.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::MemorySessions;
use mcp_runtime::http::{HttpOptions, HttpSessions};
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::backend::Folder;
use crate::http::stores::{Database, Mood, instances};
use crate::http::support::{
    Served, call, initialize, initialize_at_length, next_in_time, serve_with, text,
};

const WITH_HTTP: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

fn request(session: &str, method: &str, params: Value, version: Version) -> Request {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    Request::legacy(session, &message, version)
}

fn ping(session: &str) -> Request {
    request(session, "ping", json!({}), Version::V2025_11_25)
}

fn on_session(verb: &'static str, session: &str) -> Request {
    Request::new(verb, Version::V2025_11_25).header("Mcp-Session-Id", session)
}

/// Counts the log messages that arrive, at all levels.
async fn logged(server: &Served, session: &str, version: Version) -> usize {
    let request = call(session, 1, "log_all", json!({}), version);
    let mut response = server.send(&request).await;
    if !response.is_events() {
        return 0;
    }
    response.all().await.len() - 1
}

// Covers: LHTTP-12, LHTTP-13, LOG-02, RES-07
#[tokio::test]
async fn instances_that_share_a_store_serve_the_same_session() {
    let memory = || Arc::new(MemorySessions::new(&Limits::default()));
    let folder = Folder::new();
    for version in WITH_HTTP {
        for [one, two] in [
            instances(memory(), None, Limits::default()).await,
            instances(Arc::<Database>::default(), None, Limits::default()).await,
            instances(Arc::new(folder.open()), None, Limits::default()).await,
        ] {
            let session = one.session(version).await;
            for (server, said) in [(&two, "a"), (&one, "b"), (&two, "c")] {
                let request = call(&session, 1, "echo", json!({"text": said}), version);
                assert_eq!(text(&server.message(&request).await.1), said);
            }
            assert_eq!(logged(&two, &session, version).await, 7);
            let level = json!({"level": "alert"});
            let request_level = request(&session, "logging/setLevel", level, version);
            assert_eq!(one.message(&request_level).await.0, 200);
            assert_eq!(logged(&two, &session, version).await, 2);

            let uri = json!({"uri": "test://static"});
            let subscribe = request(&session, "resources/subscribe", uri.clone(), version);
            assert_eq!(one.message(&subscribe).await.0, 200);
            let mut stream = two.send(&on_session("GET", &session)).await;
            // This instance does not know which lists changed on the other one.
            for _ in 0..3 {
                let told = next_in_time(&mut stream).await;
                let method = told["method"].as_str().unwrap();
                assert!(method.ends_with("/list_changed"), "{told}");
            }
            two.handle.notify().resource_updated("test://static");
            assert_eq!(stream.next().await.unwrap()["params"], uri);
            let unsubscribe = request(&session, "resources/unsubscribe", uri, version);
            assert_eq!(one.message(&unsubscribe).await.0, 200);
            assert_eq!(two.message(&ping(&session)).await.0, 200);
            two.handle.notify().resource_updated("test://static");
            two.handle.notify().tools_changed();
            let told = stream.next().await.unwrap();
            assert_eq!(told["method"], "notifications/tools/list_changed");

            assert_eq!(two.send(&on_session("DELETE", &session)).await.status, 204);
            assert_eq!(stream.next().await, None);
            one.refused(&ping(&session), 404, -32600).await;
            two.refused(&ping(&session), 404, -32600).await;
            assert_eq!(one.send(&on_session("DELETE", &session)).await.status, 404);
        }
    }
}

// Covers: LHTTP-12
#[tokio::test]
async fn a_session_outlives_its_server() {
    let store = Arc::<Database>::default();
    let serve = async || {
        let options = HttpOptions::new().sessions(HttpSessions::Store(store.clone()));
        serve_with(options, Limits::default()).await
    };
    let before = serve().await;
    let session = before.session(Version::V2025_11_25).await;
    let level = json!({"level": "emergency"});
    let level = request(&session, "logging/setLevel", level, Version::V2025_11_25);
    assert_eq!(before.message(&level).await.0, 200);
    before.handle.shut_down();
    before.refused_connection().await;
    let after = serve().await;
    assert_eq!(logged(&after, &session, Version::V2025_11_25).await, 1);
    // The client's description is known, too.
    let again = initialize(Version::V2025_11_25).header("Mcp-Session-Id", &session);
    after.refused(&again, 400, -32600).await;
}

// Covers: LHTTP-12
#[tokio::test]
async fn a_store_that_fails_or_hangs_is_not_the_end_of_a_session() {
    let limits =
        Limits::default().with(|limits| limits.sessions.store_timeout = Duration::from_millis(200));
    let store = Arc::<Database>::default();
    let [server, _] = instances(store.clone(), None, limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let level = |level: &str| {
        let level = json!({"level": level});
        request(&session, "logging/setLevel", level, Version::V2025_11_25)
    };
    for mood in [Mood::Fails, Mood::Hangs] {
        store.is(mood);
        for request in [
            initialize(Version::V2025_11_25),
            ping(&session),
            on_session("GET", &session),
            on_session("DELETE", &session),
            level("error"),
        ] {
            let mut response = server.send(&request).await;
            assert_eq!(response.status, 503, "{mood:?}: {request:?}");
            assert!(response.header("retry-after").is_some());
            let message = response.message().await;
            assert!(!message.to_string().contains("database"), "{message}");
        }
        // Clients that do not need a session are not affected.
        let modern = Request::tool("echo", json!({"text": "hello"}));
        assert_eq!(server.message(&modern).await.0, 200);
        store.is(Mood::Well);
        assert_eq!(server.message(&ping(&session)).await.0, 200);
        assert_eq!(logged(&server, &session, Version::V2025_11_25).await, 7);
    }
}

// Covers: HTTP-11, BASE-11
#[tokio::test]
async fn modern_requests_look_up_no_session() {
    let store = Arc::<Database>::default();
    let [server, _] = instances(store.clone(), None, Limits::default()).await;
    let session = server.session(Version::V2025_11_25).await;
    let before = store.asked.load(Ordering::SeqCst);
    let modern = Request::tool("echo", json!({"text": "hello"})).header("Mcp-Session-Id", &session);
    assert_eq!(server.message(&modern).await.0, 200);
    assert_eq!(store.asked.load(Ordering::SeqCst), before);
}

// Covers: RES-07
#[tokio::test]
async fn changes_made_at_two_instances_at_the_same_time_are_all_kept() {
    let store = Arc::<Database>::default();
    let servers = instances(store, None, Limits::default()).await;
    let session = servers[0].session(Version::V2025_11_25).await;
    let uri = |number: usize| format!("test://static?{number}");
    let mut subscribing = Vec::new();
    for number in 0..6 {
        let address = servers[number % 2].address;
        let uri = json!({"uri": uri(number)});
        let request = request(&session, "resources/subscribe", uri, Version::V2025_11_25);
        subscribing.push(tokio::spawn(async move {
            tests::http::send(address, &request).await.status
        }));
    }
    for status in subscribing {
        assert_eq!(status.await.unwrap(), 200);
    }
    let mut stream = servers[0].send(&on_session("GET", &session)).await;
    for number in 0..6 {
        servers[0].handle.notify().resource_updated(uri(number));
        assert_eq!(
            stream.next().await.unwrap()["params"]["uri"],
            json!(uri(number))
        );
    }
}

// Covers: REQ-02, REQ-03
#[tokio::test]
async fn a_response_is_accepted_only_at_the_instance_that_sent_the_request() {
    let store = Arc::<Database>::default();
    let [one, two] = instances(store, None, Limits::default()).await;
    let mut shake = initialize(Version::V2025_11_25);
    let body = String::from_utf8(shake.body).unwrap();
    let can = r#""capabilities":{"elicitation":{}}"#;
    shake.body = body.replace(r#""capabilities":{}"#, can).into_bytes();
    let session = one.send(&shake).await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = Request::legacy(&session, &ready, Version::V2025_11_25);
    assert_eq!(two.send(&ready).await.status, 202);

    let mut asked = Vec::new();
    for server in [&one, &two] {
        let request = call(&session, 1, "ask_name", json!({}), Version::V2025_11_25);
        let mut stream = server.send(&request).await;
        let question = loop {
            let message = stream.next().await.unwrap();
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        asked.push((stream, question["id"].clone()));
    }
    assert_ne!(asked[0].1, asked[1].1);
    let answer = |id: &Value, name: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        Request::legacy(&session, &message, Version::V2025_11_25)
    };
    for (server, id, name) in [(&two, 0, "Mallory"), (&one, 0, "Ada"), (&two, 1, "Eve")] {
        let request = answer(&asked[id].1, name);
        assert_eq!(server.send(&request).await.status, 202);
    }
    for ((stream, _), name) in asked.iter_mut().zip(["Ada", "Eve"]) {
        let message = stream.next().await.unwrap();
        assert_eq!(text(&message), format!("Hello, {name}!"));
    }
}

// Limits: sessions.max_client_bytes
#[tokio::test]
async fn client_data_of_exactly_the_maximum_size_is_accepted() {
    let client = json!({
        "capabilities": {"experimental": {"x": {"y": "z".repeat(40)}}},
        "info": {"name": "n".repeat(40), "version": "1"},
    });
    let length = client.to_string().len();
    for (session_client, fits) in [(length - 1, false), (length, true), (length + 1, true)] {
        let limits =
            Limits::default().with(|limits| limits.sessions.max_client_bytes = session_client);
        let server = serve_with(HttpOptions::new(), limits).await;
        let answer = server.message(&initialize_at_length(40, 40)).await.1;
        assert_eq!(answer.get("result").is_some(), fits, "{session_client}");
    }
}

// Covers: LHTTP-19, SEC-05
#[tokio::test]
async fn the_client_data_of_a_session_has_a_maximum_size() {
    let limits = Limits::default().with(|limits| limits.sessions.max_client_bytes = 1_000);
    let server = serve_with(HttpOptions::new(), limits).await;
    assert_eq!(server.message(&initialize_at_length(400, 400)).await.0, 200);
    for (request, named) in [
        (initialize_at_length(1_000, 1), "`clientInfo`"),
        (initialize_at_length(1, 1_000), "`capabilities`"),
    ] {
        let mut response = server.send(&request).await;
        assert_eq!(response.header("mcp-session-id"), None);
        let error = &response.message().await["error"];
        assert_eq!(error["code"], -32602);
        let text = error["message"].as_str().unwrap();
        assert!(
            text.contains(named) && text.contains("1000 bytes"),
            "{text}"
        );
    }
}
