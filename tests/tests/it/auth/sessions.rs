//! Sessions, streams, events and sealed states of one principal are unknown to all others.

use std::sync::Arc;

use mcp_runtime::Limits;
use mcp_runtime::backend::{EventStore, MemoryEvents, MemorySessions, SessionStore};
use mcp_runtime::http::{HttpOptions, HttpSessions};
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};

use super::issuer::Issuer;
use super::{options, serve, session, status, with};
use crate::fixture;
use crate::http::stores::Database;
use crate::http::support::{Served, call, initialize, serve_server, text};

/// Returns `true` if the response is the one for an unknown session.
async fn unknown(mut response: Response) -> bool {
    let status = response.status;
    let body = response.text().await;
    status == 404 && body.contains("the session is unknown or has ended")
}

/// Returns every kind of request that can be made in a session of 2025.
fn requests(session: &str, version: Version) -> Vec<Request> {
    let message = |message: Value| Request::legacy(session, &message, version);
    let get = || {
        Request::new("GET", version)
            .header("Mcp-Session-Id", session)
            .header("MCP-Protocol-Version", version.date())
    };
    let mut requests = vec![
        call(session, 1, "whoami", json!({}), version),
        message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        message(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        ),
        message(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        get(),
        get().header("Last-Event-ID", "1:0"),
        Request::new("DELETE", version)
            .header("Mcp-Session-Id", session)
            .header("MCP-Protocol-Version", version.date()),
    ];
    if version == Version::V2025_03_26 {
        requests.push(message(
            json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
        ));
    }
    requests
}

/// Tokens of callers other than alice, with the same and with other rights. The same name with another client or issuer
/// is another caller.
fn others(issuer: &Issuer) -> [String; 3] {
    [
        issuer.token_of("bob"),
        issuer.token(&json!({"client_id": "other"})),
        issuer.token(&json!({"client_id": null})),
    ]
}

// Covers: AUTH-11, SEC-03
#[tokio::test]
async fn a_session_is_unknown_to_other_principals() {
    let issuer = Issuer::start().await;
    let store: Arc<dyn SessionStore> = Arc::new(Database::default());
    for sessions in [
        HttpSessions::Memory,
        HttpSessions::Store(store),
        HttpSessions::Sealed,
    ] {
        let lasts = !matches!(sessions, HttpSessions::Sealed);
        let server = serve(options(&issuer).sessions(sessions)).await;
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            let alice = issuer.token(&json!({}));
            let id = session(&server, &alice, version).await;
            for other in others(&issuer) {
                for request in requests(&id, version) {
                    // Without stored sessions there is no stream to read and nothing to delete.
                    if !lasts && matches!(request.verb, "GET" | "DELETE") {
                        continue;
                    }
                    let response = server.send(&with(request.clone(), &other)).await;
                    assert!(unknown(response).await, "{request:?}");
                }
            }
            // The session still exists, even for a later token of the same principal with other scopes.
            let later = issuer.token(&json!({"scope": "c"}));
            for (token, scopes) in [(&alice, "a b"), (&later, "c"), (&alice, "a b")] {
                let request = call(&id, 1, "whoami", json!({}), version);
                let (_, message) = server.message(&with(request, token)).await;
                assert_eq!(text(&message), format!("alice app {scopes}"));
            }
        }
    }
}

// Covers: AUTH-11
#[tokio::test]
async fn principals_and_anonymous_callers_cannot_use_each_others_sessions() {
    let issuer = Issuer::start().await;
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessions::new(&Limits::default()));
    let sessions = || HttpSessions::Store(Arc::clone(&store));
    let open = serve(HttpOptions::new().sessions(sessions())).await;
    let protected = serve(options(&issuer).sessions(sessions())).await;
    let alice = issuer.token(&json!({}));
    let anonymous = open.session(Version::V2025_11_25).await;
    let hers = session(&protected, &alice, Version::V2025_11_25).await;
    let ping = |session: &str| call(session, 1, "whoami", json!({}), Version::V2025_11_25);
    assert!(unknown(protected.send(&with(ping(&anonymous), &alice)).await).await);
    assert!(unknown(open.send(&ping(&hers)).await).await);
    assert_eq!(open.send(&ping(&anonymous)).await.status, 200);
    assert_eq!(protected.send(&with(ping(&hers), &alice)).await.status, 200);
}

/// Two instances that share sessions and events.
async fn instances(issuer: &Issuer) -> [Served; 2] {
    let limits = Limits::default();
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessions::new(&limits));
    let events: Arc<dyn EventStore> = Arc::new(MemoryEvents::new(&limits));
    let options = options(issuer)
        .sessions(HttpSessions::Store(sessions))
        .event_store(events);
    [serve(options.clone()).await, serve(options).await]
}

// Covers: AUTH-11, LHTTP-08
#[tokio::test]
async fn only_the_principal_of_a_session_can_read_its_events_at_any_instance() {
    let issuer = Issuer::start().await;
    let [one, two] = instances(&issuer).await;
    let [alice, bob] = ["alice", "bob"].map(|name| issuer.token_of(name));
    let id = session(&one, &alice, Version::V2025_11_25).await;
    let bobs = session(&one, &bob, Version::V2025_11_25).await;
    let request = call(&id, 1, "report_and_wait", json!({}), Version::V2025_11_25);
    let mut broken = one.send(&with(request, &alice)).await;
    let seen = loop {
        let event = broken.event().await.unwrap();
        if !event.data.is_empty() {
            break event.id.unwrap();
        }
    };
    drop(broken);
    let get = |session: &str, token: &str| {
        let request = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session);
        let request = request
            .header("Last-Event-ID", &seen)
            .answering("tools/call");
        with(request, token)
    };
    for server in [&one, &two] {
        assert!(unknown(server.send(&get(&id, &bob)).await).await);
        // His own session gives him no access to anything of hers.
        assert_eq!(server.send(&get(&bobs, &bob)).await.status, 400);
    }
    let mut elsewhere = two.send(&get(&id, &alice)).await;
    assert_eq!(elsewhere.status, 200);
    one.shared.0.go_on.notify_waiters();
    assert_eq!(text(&elsewhere.all().await[0]), "waited");
}

// Covers: AUTH-11, REQ-02
#[tokio::test]
async fn only_the_principal_of_a_session_can_answer_its_elicitations() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let version = Version::V2025_11_25;
    let [alice, bob] = ["alice", "bob"].map(|name| issuer.token_of(name));
    let capable = async |token: &str| {
        let params = json!({
            "protocolVersion": version.date(),
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        });
        let shake = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let shake = with(Request::bare(&shake, version), token);
        let response = server.send(&shake).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::legacy(&session, &ready, version);
        assert_eq!(server.send(&with(ready, token)).await.status, 202);
        session
    };
    let (hers, his) = (capable(&alice).await, capable(&bob).await);
    let ask = call(&hers, 1, "ask_name", json!({}), version);
    let mut stream = server.send(&with(ask, &alice)).await;
    let mut question = stream.next().await.unwrap();
    while question["method"] != "elicitation/create" {
        question = stream.next().await.unwrap();
    }
    let answer = |session: &str, name: &str, token: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        with(Request::legacy(session, &answer, version), token)
    };
    assert!(unknown(server.send(&answer(&hers, "Bob", &bob)).await).await);
    let response = server.send(&answer(&his, "Bob", &bob)).await;
    assert_eq!(
        response.status, 202,
        "it belongs to no request of his session"
    );
    // The call runs with the scopes of its own request, so those of the answer do not matter.
    let other_scopes = issuer.token(&json!({"scope": "c"}));
    let response = server.send(&answer(&hers, "Alice", &other_scopes)).await;
    assert_eq!(response.status, 202);
    assert_eq!(text(&stream.next().await.unwrap()), "Hello, Alice!");
}

// Covers: AUTH-02, AUTH-11, SSE-04
#[tokio::test]
async fn a_2024_11_05_connection_accepts_only_messages_of_its_principal() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer).legacy_sse(true)).await;
    let [alice, bob] = ["alice", "bob"].map(|name| issuer.token_of(name));
    let mut stream = server
        .send(&with(Request::new("GET", Version::V2024_11_05), &alice))
        .await;
    let endpoint = stream.event().await.unwrap().data;
    let post = |message: &Value, token: &str| {
        with(
            Request::bare(message, Version::V2024_11_05).to(&endpoint),
            token,
        )
    };
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let shake = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    assert!(unknown(server.send(&post(&shake, &bob)).await).await);
    let response = server.send(&post(&shake, "x")).await;
    assert_eq!(response.status, 401);
    assert_eq!(server.send(&post(&shake, &alice)).await.status, 202);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.send(&post(&ready, &alice)).await.status, 202);
    let message: Value = serde_json::from_str(&stream.event().await.unwrap().data).unwrap();
    assert_eq!(message["id"], 0);
    // The caller is the one who sent the request, not the one who opened the stream.
    let params = json!({"name": "whoami", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let later = issuer.token(&json!({"scope": "c"}));
    assert_eq!(server.send(&post(&call, &later)).await.status, 202);
    let message: Value = serde_json::from_str(&stream.event().await.unwrap().data).unwrap();
    assert_eq!(text(&message), "alice app c");
}

// Covers: MRTR-10, AUTH-11
#[tokio::test]
async fn only_the_principal_that_started_a_call_can_continue_it() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let [alice, bob] = ["alice", "bob"].map(|name| issuer.token_of(name));
    let capabilities =
        json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    let ask = |more: Value| {
        let mut params = json!({"name": "ask_name", "arguments": {}, "_meta": capabilities});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        Request::modern(1, "tools/call", params)
    };
    let mut response = server.send(&with(ask(json!({})), &alice)).await;
    let message = response.message().await;
    let state = &message["result"]["requestState"];
    let answer = json!({"who": {"action": "accept", "content": {"name": "A"}}});
    let retry = || ask(json!({"requestState": state, "inputResponses": answer}));
    let mut response = server.send(&with(retry(), &bob)).await;
    let refused = response.text().await;
    assert!(refused.contains("-32602"), "{refused}");
    let mut response = server.send(&with(retry(), &alice)).await;
    let answered = response.text().await;
    assert!(answered.contains("Hello, A!"), "{answered}");
}

// Covers: SEC-03
// Limits: sessions.max_per_principal, streams.max_per_principal
#[tokio::test]
async fn the_sessions_and_streams_of_a_principal_are_limited() {
    let issuer = Issuer::start().await;
    let limits = Limits::default().with(|limits| {
        limits.sessions.max_per_principal = 2;
        limits.streams.max_per_principal = 2;
    });
    let server = fixture::server()
        .only(Selected::tag("auth"))
        .limits(limits)
        .http(options(&issuer));
    let server = serve_server(server).await;
    let [alice, bob] = ["alice", "bob"].map(|name| issuer.token_of(name));
    let his = session(&server, &bob, Version::V2025_11_25).await;
    let first = session(&server, &alice, Version::V2025_11_25).await;
    let second = session(&server, &alice, Version::V2025_11_25).await;
    let third = session(&server, &alice, Version::V2025_11_25).await;
    let ping = |session: &str| call(session, 1, "whoami", json!({}), Version::V2025_11_25);
    assert!(unknown(server.send(&with(ping(&first), &alice)).await).await);
    for (session, token) in [(&second, &alice), (&third, &alice), (&his, &bob)] {
        assert_eq!(server.send(&with(ping(session), token)).await.status, 200);
    }
    // Sessions with running calls are not ended to make room for new ones.
    let mut running = Vec::new();
    for session in [&second, &third] {
        let request = call(
            session,
            2,
            "report_and_wait",
            json!({}),
            Version::V2025_11_25,
        );
        running.push(server.send(&with(request, &alice)).await);
    }
    let response = server
        .send(&with(initialize(Version::V2025_11_25), &alice))
        .await;
    assert_eq!(
        (response.status, response.header("retry-after")),
        (503, Some("10"))
    );
    session(&server, &bob, Version::V2025_11_25).await;

    let get =
        |session: &str| Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session);
    let listen = || {
        let params = json!({"notifications": {"toolsListChanged": true}});
        Request::modern(1, "subscriptions/listen", params)
    };
    let one = server.send(&with(get(&second), &alice)).await;
    let two = server.send(&with(listen(), &alice)).await;
    assert_eq!((one.status, two.status), (200, 200));
    for request in [get(&third), listen()] {
        let (status, message) = server.message(&with(request, &alice)).await;
        assert_eq!((status, &message["error"]["code"]), (429, &json!(429)));
    }
    assert_eq!(server.send(&with(listen(), &bob)).await.status, 200);
    assert_eq!(status(&server, &alice).await, 200);
    // A released slot is available to the next session.
    drop(two);
    while server.send(&with(listen(), &alice)).await.status != 200 {
        tokio::task::yield_now().await;
    }
    drop(one);
}
