//! Sessions without a store: sealed sessions, which clients carry themselves, and no sessions at all.

use std::time::Duration;

use mcp_runtime::http::{HttpOptions, HttpSessions};
use mcp_runtime::server::{SealingKey, Selected};
use mcp_runtime::{Limits, Server};
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, connect, response, write};

use crate::fixture;
use crate::http::support::{
    Served, call, initialize, initialize_at_length, serve_server, serve_with, text,
};

fn sealing(server: Server, key: u8) -> Server {
    server
        .sealing_keys([SealingKey::from_bytes([key; 32])])
        .http(HttpOptions::new().sessions(HttpSessions::Sealed))
}

async fn sealed(key: u8) -> Served {
    serve_server(sealing(fixture::server(), key)).await
}

async fn none() -> Served {
    let options = HttpOptions::new().sessions(HttpSessions::None);
    serve_with(options, Limits::default()).await
}

fn ping(session: &str) -> Request {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Request::legacy(session, &ping, Version::V2025_11_25)
}

/// Creates a message without a session.
fn bare(method: &str, params: Value, version: Version) -> Request {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Request::bare(&message, version).header("MCP-Protocol-Version", version.date())
}

/// Creates the first request of a client that supports elicitation.
fn able(version: Version) -> Request {
    let mut shake = initialize(version);
    let body = String::from_utf8(shake.body).unwrap();
    let can = r#""capabilities":{"elicitation":{},"sampling":{},"roots":{}}"#;
    shake.body = body.replace(r#""capabilities":{}"#, can).into_bytes();
    shake
}

/// Checks that features that cannot work are neither declared nor served as if they could work.
async fn refuses(server: &Served, request: impl Fn(&str, Value) -> Request, version: Version) {
    for (method, params) in [
        ("logging/setLevel", json!({"level": "debug"})),
        ("resources/subscribe", json!({"uri": "test://static"})),
        ("resources/unsubscribe", json!({"uri": "test://static"})),
    ] {
        server.refused(&request(method, params), 200, -32601).await;
    }
    let call = |name: &str| {
        let meta = json!({"progressToken": 1});
        let params = json!({"name": name, "arguments": {}, "_meta": meta});
        request("tools/call", params)
    };
    // No log message precedes the answer, so the answer is not a stream.
    assert_eq!(server.message(&call("log_all")).await.0, 200);
    let (status, message) = server.message(&call("ask_name")).await;
    assert_eq!((status, &message["result"]["isError"]), (200, &json!(true)));
    assert!(text(&message).contains("elicitation"), "{message}");
    // Progress is reported, but nothing can be resumed.
    let mut stream = server.send(&call("report_and_wait")).await;
    let event = stream.event().await.unwrap();
    assert_eq!((event.id, event.retry), (None, None));
    server.shared.0.go_on.notify_waiters();
    assert_eq!(text(&stream.next().await.unwrap()), "waited", "{version:?}");
    for verb in ["GET", "DELETE"] {
        let mut request = request("ping", json!({}));
        (request.verb, request.body) = (verb, Vec::new());
        let response = server
            .send(&request.with("Accept", "text/event-stream"))
            .await;
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST"))
        );
    }
}

fn check_offer(offer: &Value) {
    let offered = &offer["result"]["capabilities"];
    assert_eq!(offered["logging"], Value::Null, "{offered}");
    for list in ["tools", "prompts", "resources"] {
        assert_eq!(offered[list], json!({}), "{offered}");
    }
}

// Covers: LHTTP-10, LIFE-05, LHTTP-06, LHTTP-13
#[tokio::test]
async fn a_sealed_session_is_served_by_every_instance_with_its_key() {
    let (one, two) = (sealed(1).await, sealed(1).await);
    for version in Version::LEGACY {
        let mut response = one.send(&able(version)).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        assert!(session.len() < 600 && session.bytes().all(|byte| (0x21..=0x7E).contains(&byte)));
        check_offer(&response.message().await);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::legacy(&session, &ready, version);
        assert_eq!(two.send(&ready).await.status, 202);
        for (server, said) in [(&two, "a"), (&one, "b"), (&two, "c")] {
            let request = call(&session, 1, "echo", json!({"text": said}), version);
            assert_eq!(text(&server.message(&request).await.1), said);
        }
        let request = |method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            Request::legacy(&session, &message, version)
        };
        refuses(&two, request, version).await;
        let again = initialize(version).header("Mcp-Session-Id", &session);
        two.refused(&again, 400, -32600).await;
        two.refused(&bare("ping", json!({}), version), 400, -32600)
            .await;
    }
}

// Covers: LHTTP-12, SEC-02, SEC-12
#[tokio::test]
async fn a_sealed_session_that_was_changed_or_belongs_to_another_server_is_unknown() {
    let server = sealed(1).await;
    let session = server.session(Version::V2025_11_25).await;
    assert_eq!(server.message(&ping(&session)).await.0, 200);
    for at in [0, 8, 20, session.len() / 2, session.len() - 2] {
        let mut changed = session.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        server.refused(&ping(&changed), 404, -32600).await;
    }
    let long = "A".repeat(10_000);
    for strange in ["", "x", &session[1..], &*long, &*format!("{session}AAAA")] {
        server.refused(&ping(strange), 404, -32600).await;
    }
    let other_key = sealed(2).await;
    other_key.refused(&ping(&session), 404, -32600).await;
    let other_name = sealing(Server::new("other", "1").only(Selected::tag("fixture")), 1);
    let other_name = serve_server(other_name.state(fixture::Shared::default())).await;
    other_name.refused(&ping(&session), 404, -32600).await;
    // The state of a call is sealed with the same keys but is not a session.
    let capabilities = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let params = json!({"name": "ask_name", "arguments": {}, "_meta": capabilities});
    let asked = server
        .message(&Request::modern(1, "tools/call", params))
        .await;
    let state = asked.1["result"]["requestState"].as_str().unwrap();
    server.refused(&ping(state), 404, -32600).await;
}

// Covers: LHTTP-12, LHTTP-19
// Limits: sessions.sealed_timeout
#[tokio::test]
async fn a_sealed_session_expires() {
    let limits =
        Limits::default().with(|limits| limits.sessions.sealed_timeout = Duration::from_secs(1));
    let server = serve_server(sealing(fixture::server().limits(limits), 1)).await;
    let shaken = server.send(&initialize(Version::V2025_11_25)).await;
    let session = shaken.header("mcp-session-id").unwrap();
    assert_eq!(server.message(&ping(session)).await.0, 200);
    // Its expiry uses the system clock in whole seconds, so it may remain valid for up to one second more.
    tests::wait::until(async || server.message(&ping(session)).await.0 == 404).await;
    server.refused(&ping(session), 404, -32600).await;
}

// Covers: LHTTP-10
#[tokio::test]
async fn an_error_about_a_too_large_sealed_session_names_the_member() {
    let server = sealed(1).await;
    let fits = server.send(&initialize_at_length(1_000, 1_000)).await;
    assert!(fits.header("mcp-session-id").unwrap().len() <= 4 << 10);
    for (request, named) in [
        (initialize_at_length(4_000, 1), "`clientInfo`"),
        (initialize_at_length(1, 4_000), "`capabilities`"),
    ] {
        let (status, message) = server.message(&request).await;
        let error = &message["error"];
        assert_eq!((status, &error["code"]), (200, &json!(-32602)));
        assert!(
            error["message"].as_str().unwrap().contains(named),
            "{error}"
        );
    }
}

// Limits: sessions.max_sealed_bytes
#[tokio::test]
async fn the_length_of_a_sealed_session_is_limited() {
    let length_at = async |sealed_session: usize| {
        let limits =
            Limits::default().with(|limits| limits.sessions.max_sealed_bytes = sealed_session);
        let server = serve_server(sealing(fixture::server().limits(limits), 1)).await;
        let shaken = server.send(&initialize(Version::V2025_11_25)).await;
        shaken.header("mcp-session-id").map(str::len)
    };
    let length = length_at(4 << 10).await.expect("it fits");
    for (most, fits) in [(length - 1, false), (length, true), (length + 1, true)] {
        assert_eq!(length_at(most).await, fits.then_some(length), "{most}");
    }
}

// Covers: LHTTP-05, CANC-01
#[tokio::test]
async fn a_call_of_a_sealed_session_outlives_its_connection_and_can_be_cancelled() {
    let server = sealed(1).await;
    let session = server.session(Version::V2025_11_25).await;
    let request = call(&session, 1, "wait", json!({}), Version::V2025_11_25);
    let mut connection = connect(server.address).await;
    write(&mut connection, &request).await;
    server.shared.started(1).await;
    drop(connection);
    server.refused(&request, 200, -32600).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let cancel = Request::legacy(&session, &cancel, Version::V2025_11_25);
    assert_eq!(server.send(&cancel).await.status, 202);
    server.shared.dropped(1).await;
}

// Covers: LHTTP-15, LHTTP-16, LHTTP-18
#[tokio::test]
async fn without_sessions_each_request_stands_for_itself() {
    let server = none().await;
    for version in Version::LEGACY {
        let mut response = server.send(&able(version)).await;
        assert_eq!(response.header("mcp-session-id"), None);
        check_offer(&response.message().await);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::bare(&ready, version);
        assert_eq!(server.send(&ready).await.status, 202);
        let request = |method: &str, params: Value| bare(method, params, version);
        refuses(&server, request, version).await;
    }
    let echo = |version| {
        let arguments = json!({"text": "hello"});
        bare(
            "tools/call",
            json!({"name": "echo", "arguments": arguments}),
            version,
        )
    };
    let (status, message) = server.message(&echo(Version::V2025_06_18)).await;
    assert_eq!((status, text(&message)), (200, "hello"));
    let strange = echo(Version::V2025_06_18).with("MCP-Protocol-Version", "1999-01-01");
    server.refused(&strange, 400, -32600).await;
    // There was never a session, so the client has to start over.
    server.refused(&ping("x"), 404, -32600).await;
}

// Covers: LHTTP-15, BATCH-01
#[tokio::test]
async fn without_sessions_and_header_a_request_is_of_2025_03_26() {
    let server = none().await;
    let call = |id: i64| {
        let params = json!({"name": "pause", "arguments": {"ms": 5}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch =
        Request::bare(&json!([call(1), call(2)]), Version::V2025_03_26).answering("tools/call");
    let (status, answers) = server.message(&batch).await;
    assert_eq!((status, answers.as_array().unwrap().len()), (200, 2));
    let later = batch.header("MCP-Protocol-Version", "2025-06-18");
    server.refused(&later, 400, -32600).await;
}

// Covers: LHTTP-05
#[tokio::test]
async fn without_sessions_a_call_outlives_its_connection() {
    let server = none().await;
    let request = bare("tools/call", json!({"name": "wait"}), Version::V2025_11_25);
    let mut lost = connect(server.address).await;
    write(&mut lost, &request).await;
    server.shared.started(1).await;
    drop(lost);
    // A request with the same id at the same time belongs to another client.
    let mut other = connect(server.address).await;
    write(&mut other, &request).await;
    server.shared.started(2).await;
    server.shared.0.go_on.notify_waiters();
    let mut answer = response(other, &request).await.unwrap();
    assert_eq!(text(&answer.message().await), "waited");
    assert_eq!(
        server
            .shared
            .0
            .dropped
            .load(std::sync::atomic::Ordering::SeqCst),
        0
    );
}

// Covers: SSE-04
#[tokio::test]
async fn connections_of_2024_11_05_have_a_session_in_every_mode() {
    for sessions in [HttpSessions::Sealed, HttpSessions::None] {
        let options = HttpOptions::new().legacy_sse(true).sessions(sessions);
        let server = serve_with(options, Limits::default()).await;
        let mut stream = server
            .send(&Request::new("GET", Version::V2024_11_05))
            .await;
        let endpoint = stream.event().await.unwrap().data;
        let shake = initialize(Version::V2024_11_05).to(&endpoint);
        assert_eq!(server.send(&shake).await.status, 202);
        let shaken = stream.event().await.unwrap().data;
        assert!(shaken.contains(r#""logging":{}"#), "{shaken}");
        let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "error"}});
        let level = Request::bare(&level, Version::V2024_11_05).to(&endpoint);
        assert_eq!(server.send(&level).await.status, 202);
        assert!(
            stream
                .event()
                .await
                .unwrap()
                .data
                .contains(r#""result":{}"#)
        );
        // The id of the stream is not the id of a session.
        let id = endpoint.split_once('=').unwrap().1;
        server.refused(&ping(id), 404, -32600).await;
        assert_eq!(server.send(&level).await.status, 202);
    }
}
