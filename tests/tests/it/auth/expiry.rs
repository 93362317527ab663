//! Streams end when the tokens with which they were opened expire.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::routing::post;
use mcp_runtime::Principal;
use mcp_runtime::auth::{AuthError, Introspection, Jwt, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tokio::net::TcpListener;
use tokio::time;

use super::issuer::{Issuer, seconds};
use super::{RESOURCE, serve, session, status, with};
use crate::http::support::{Served, call, text};

const SECOND: Duration = Duration::from_secs(1);

/// Advances time in the whole process without waiting.
async fn pass(time: Duration) {
    time::pause();
    let mut left = time;
    while !left.is_zero() {
        let step = left.min(5 * SECOND);
        time::advance(step).await;
        left = left.saturating_sub(step);
    }
    time::resume();
}

/// Starts a server whose tokens state the number of seconds for which they are valid.
async fn serve_known() -> Served {
    let check = async |token: String| {
        let alice = Principal::new("alice").with_client_id("app");
        if token == "always" {
            return Ok(alice);
        }
        let seconds: i64 = token.parse().map_err(AuthError::invalid)?;
        let (now, span) = (
            SystemTime::now(),
            Duration::from_secs(seconds.unsigned_abs()),
        );
        Ok(alice.with_expires_at(if seconds < 0 { now - span } else { now + span }))
    };
    let protected = ProtectedResource::new(RESOURCE, check);
    serve(HttpOptions::new().legacy_sse(true).authenticate(protected)).await
}

fn get(session: &str, version: Version) -> Request {
    Request::new("GET", version)
        .header("Mcp-Session-Id", session)
        .header("MCP-Protocol-Version", version.date())
}

fn listen() -> Request {
    let params = json!({"notifications": {"toolsListChanged": true}});
    Request::modern("l", "subscriptions/listen", params)
}

fn ping(session: &str, version: Version) -> Request {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Request::legacy(session, &ping, version)
}

/// Checks that the stream is open and reports a change.
async fn hears(server: &Served, stream: &mut Response) {
    server.handle.notify().tools_changed();
    let told = stream.next().await.expect("it is open");
    assert_eq!(told["method"], "notifications/tools/list_changed");
}

/// Checks that a listen request ends with its result, as it does when the server stops.
async fn completed(stream: &mut Response) {
    let rest = time::timeout(PATIENCE, stream.all()).await;
    let rest = rest.expect("it ends");
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(
        (&rest[0]["id"], &rest[0]["result"]["resultType"]),
        (&json!("l"), &json!("complete"))
    );
}

/// Checks that a stream ends without any further messages.
async fn ended(stream: &mut Response) {
    let next = time::timeout(PATIENCE, stream.next()).await;
    assert_eq!(next.expect("it ends"), None);
}

async fn listening(server: &Served, token: &str) -> Response {
    let mut stream = server.send(&with(listen(), token)).await;
    let acknowledged = stream.next().await.unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    stream
}

// Covers: SUBS-11, SUBS-10
#[tokio::test]
async fn a_listener_ends_with_its_token() {
    let server = serve_known().await;
    let mut always = listening(&server, "always").await;
    let mut stream = listening(&server, "300").await;
    pass(290 * SECOND).await;
    hears(&server, &mut stream).await;
    // A change before the expiry is still reported.
    server.handle.notify().tools_changed();
    assert!(stream.next().await.unwrap()["method"].is_string());
    pass(20 * SECOND).await;
    completed(&mut stream).await;
    hears(&server, &mut always).await;
    // With a new token, the client can open a stream again.
    let mut again = listening(&server, "300").await;
    hears(&server, &mut again).await;
}

// Covers: SUBS-11, LHTTP-06
#[tokio::test]
async fn the_stream_of_a_session_ends_with_the_last_token_of_its_client() {
    let server = serve_known().await;
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let id = session(&server, "300", version).await;
        let mut stream = server.send(&with(get(&id, version), "300")).await;
        // A token that expires sooner does not shorten the lifetime.
        server.send(&with(ping(&id, version), "10")).await;
        pass(200 * SECOND).await;
        hears(&server, &mut stream).await;
        // The client has a new token and does not need to reopen its stream for it.
        server.send(&with(ping(&id, version), "300")).await;
        pass(290 * SECOND).await;
        hears(&server, &mut stream).await;
        pass(20 * SECOND).await;
        ended(&mut stream).await;
        // No change in the meantime is lost.
        server.handle.notify().prompts_changed();
        let mut again = server.send(&with(get(&id, version), "300")).await;
        let told = again.next().await.unwrap();
        assert_eq!(told["method"], "notifications/prompts/list_changed");
        // A token that never expires keeps the stream open.
        server.send(&with(ping(&id, version), "always")).await;
        for _ in 0..3 {
            pass(280 * SECOND).await;
            server.send(&with(ping(&id, version), "1")).await;
        }
        hears(&server, &mut again).await;
    }
}

// Covers: SUBS-11, LHTTP-05
#[tokio::test]
async fn a_call_is_answered_though_its_token_expired_meanwhile() {
    let server = serve_known().await;
    let modern = json!({"name": "report_and_wait", "_meta": {"progressToken": 1}});
    let modern = Request::modern(1, "tools/call", modern);
    let id = session(&server, "60", Version::V2025_11_25).await;
    let legacy = call(&id, 1, "report_and_wait", json!({}), Version::V2025_11_25);
    for (request, number) in [(modern, 1), (legacy, 2)] {
        let mut stream = server.send(&with(request, "60")).await;
        stream.next().await.unwrap();
        server.shared.started(number).await;
        pass(90 * SECOND).await;
        server.shared.0.go_on.notify_waiters();
        assert_eq!(text(&stream.next().await.unwrap()), "waited");
    }
}

// Covers: SUBS-11, SSE-04
#[tokio::test]
async fn a_connection_of_2024_ends_with_the_last_token_of_its_client() {
    let server = serve_known().await;
    let request = Request::new("GET", Version::V2024_11_05).to("/sse");
    let mut stream = server.send(&with(request, "300")).await;
    let endpoint = stream.event().await.unwrap().data;
    let send = async |message: &Value, token: &str| {
        let request = Request::bare(message, Version::V2024_11_05).to(&endpoint);
        server.send(&with(request, token)).await.status
    };
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let shake = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    assert_eq!(send(&shake, "300").await, 202);
    assert!(
        stream
            .event()
            .await
            .unwrap()
            .data
            .contains("protocolVersion")
    );
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(&ready, "300").await, 202);
    pass(200 * SECOND).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(send(&ping, "300").await, 202);
    assert!(stream.event().await.is_some());
    pass(290 * SECOND).await;
    hears(&server, &mut stream).await;
    // A running call is still answered, but changes are no longer reported.
    let wait =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}});
    assert_eq!(send(&wait, "10").await, 202);
    server.shared.started(1).await;
    pass(20 * SECOND).await;
    server.handle.notify().tools_changed();
    pass(20 * SECOND).await;
    server.shared.0.go_on.notify_waiters();
    let answer = stream.event().await.unwrap();
    assert!(answer.data.contains("waited"), "{answer:?}");
    ended(&mut stream).await;
    assert_eq!(send(&ping, "300").await, 404);
}

// Covers: AUTH-02, SUBS-11
#[tokio::test]
async fn the_expiry_of_a_token_comes_from_its_claims_or_introspection() {
    let issuer = Issuer::start().await;
    let token = issuer.token(&json!({"exp": seconds(300)}));
    let jwt = Jwt::issuer(issuer.url()).skew(30 * SECOND);
    let by_itself =
        serve(HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, jwt))).await;

    let answer = json!({"active": true, "aud": RESOURCE, "sub": "alice", "exp": seconds(330)});
    let answer = Arc::new(Mutex::new(answer.to_string()));
    let told = Arc::clone(&answer);
    let app = Router::new().route("/ask", post(async move || told.lock().unwrap().clone()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = axum::serve(listener, app);
    let task = tokio::spawn(async move { serving.await.unwrap() });
    let asking = Introspection::new(&*url, format!("{url}/ask"), "me", "secret");
    let by_issuer =
        serve(HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, asking))).await;

    for (server, token) in [(&by_itself, &*token), (&by_issuer, "opaque")] {
        // The second stream relies on the cached answer about the token.
        assert_eq!(status(server, token).await, 200);
        let mut stream = listening(server, token).await;
        pass(320 * SECOND).await;
        hears(server, &mut stream).await;
        pass(15 * SECOND).await;
        completed(&mut stream).await;
    }
    // A token without a known expiry is revalidated at intervals, so its client has to reconnect.
    let unsaid = json!({"active": true, "aud": RESOURCE, "sub": "alice"});
    *answer.lock().unwrap() = unsaid.to_string();
    let mut stream = listening(&by_issuer, "other").await;
    pass(3_590 * SECOND).await;
    hears(&by_issuer, &mut stream).await;
    pass(20 * SECOND).await;
    completed(&mut stream).await;
    task.abort();
}

// Covers: AUTH-02, AUTH-05
#[tokio::test]
async fn expired_credentials_are_refused() {
    let server = serve_known().await;
    for (token, expected) in [("5", 200), ("always", 200), ("-1", 401), ("0", 401)] {
        assert_eq!(status(&server, token).await, expected, "{token}");
    }
}
