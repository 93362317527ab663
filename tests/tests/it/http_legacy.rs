//! Sessions over HTTP.

use serde_json::{Value, json};
use tests::Revision;
use tests::http::{Event, Request};

use crate::http_support::{Served, call, initialize, serve, text};

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn cancel(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// Opens a stream of the session; goes on after an event, if one is given.
fn get(session: &str, after: Option<&str>, revision: Revision) -> Request {
    let request = Request::new("GET", revision)
        .header("Mcp-Session-Id", session)
        .header("MCP-Protocol-Version", revision.date());
    match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    }
}

// Covers: LHTTP-01, LHTTP-02, LHTTP-03, LHTTP-10, LHTTP-20, LIFE-01
#[tokio::test]
async fn every_legacy_revision_shakes_hands_and_has_a_session() {
    let server = serve().await;
    for revision in Revision::LEGACY {
        let session = server.session(revision).await;
        assert!(session.len() >= 43 && session.bytes().all(|byte| (0x21..=0x7E).contains(&byte)));
        let request = call(&session, 1, "echo", json!({"text": "hello"}), revision);
        let mut response = server.send(&request).await;
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(text(&response.message().await), "hello");
        // An error of the message layer is none of HTTP.
        let unknown = json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"});
        server
            .refused(&Request::legacy(&session, &unknown, revision), 200, -32601)
            .await;
    }
}

// Covers: LHTTP-11, LHTTP-12, LHTTP-13, LHTTP-14, LHTTP-17, SEC-02
#[tokio::test]
async fn only_a_session_that_is_open_is_served() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    let other = server.session(Revision::V2025_06_18).await;
    assert_ne!(session, other);
    let request = |session: &str| Request::legacy(session, &ping(1), Revision::V2025_11_25);
    server.refused(&request("unknown"), 404, -32600).await;
    server.refused(&request(&session[1..]), 404, -32600).await;
    let bare = Request::bare(&ping(1), Revision::V2025_11_25);
    server.refused(&bare, 400, -32600).await;
    server
        .refused(
            &initialize(Revision::V2025_11_25).header("Mcp-Session-Id", &session),
            400,
            -32600,
        )
        .await;
    server
        .refused(
            &initialize(Revision::V2025_11_25).header("Mcp-Session-Id", "x"),
            404,
            -32600,
        )
        .await;
    // The session's revision counts, whatever supported one the header names.
    let odd = request(&session).with("MCP-Protocol-Version", "2025-03-26");
    assert_eq!(server.message(&odd).await.0, 200);

    let delete = Request::new("DELETE", Revision::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(&delete).await.status, 204);
    server.refused(&request(&session), 404, -32600).await;
    server
        .refused(&get(&session, None, Revision::V2025_11_25), 404, -32600)
        .await;
    assert_eq!(server.send(&delete).await.status, 404);
    assert_eq!(server.message(&request(&other)).await.0, 200);
}

// Covers: LHTTP-15, LHTTP-16, LHTTP-17
#[tokio::test]
async fn a_revision_nobody_knows_is_refused_with_those_that_are_served() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    let request = Request::legacy(&session, &ping(1), Revision::V2025_11_25);
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
        let tolerated = initialize(Revision::V2025_11_25).header("MCP-Protocol-Version", date);
        assert_eq!(server.message(&tolerated).await.0, 200);
    }
}

// Covers: LHTTP-02, LHTTP-14
#[tokio::test]
async fn a_response_needs_a_session_and_is_accepted_even_if_nobody_asked() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    let message = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
    let mut accepted = server
        .send(&Request::legacy(&session, &message, Revision::V2025_11_25))
        .await;
    assert_eq!((accepted.status, &*accepted.text().await), (202, ""));
    server
        .refused(&Request::bare(&message, Revision::V2025_11_25), 400, -32600)
        .await;
    server
        .refused(
            &Request::legacy("x", &message, Revision::V2025_11_25),
            404,
            -32600,
        )
        .await;
    server
        .refused(
            &Request::legacy("x", &cancel(1), Revision::V2025_11_25),
            404,
            -32600,
        )
        .await;
}

// Covers: LHTTP-05, LHTTP-19
#[tokio::test]
async fn a_call_outlives_its_connection_but_not_its_session() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    for (number, name) in [(1, "wait"), (2, "report_and_wait")] {
        let mut connection = tests::http::connect(server.address).await;
        let request = call(
            &session,
            i64::from(number),
            name,
            json!({}),
            Revision::V2025_11_25,
        );
        tests::http::write(&mut connection, &request).await;
        server.shared.started(number).await;
        drop(connection);
    }
    // The session still knows both calls: their ids are taken.
    for id in [1, 2] {
        server
            .refused(
                &call(&session, id, "nothing", json!({}), Revision::V2025_11_25),
                200,
                -32600,
            )
            .await;
    }
    assert_eq!(
        server
            .shared
            .0
            .dropped
            .load(std::sync::atomic::Ordering::SeqCst),
        0
    );
    let delete = Request::new("DELETE", Revision::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(&delete).await.status, 204);
    server.shared.dropped(2).await;
}

// Covers: CANC-01, LHTTP-02
#[tokio::test]
async fn a_cancelled_call_ends_its_response_without_an_answer() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    for (number, name) in [(1, "wait"), (2, "report_and_wait")] {
        let request = call(
            &session,
            i64::from(number),
            name,
            json!({}),
            Revision::V2025_11_25,
        );
        let mut connection = tests::http::connect(server.address).await;
        tests::http::write(&mut connection, &request).await;
        server.shared.started(number).await;
        let notice = Request::legacy(&session, &cancel(i64::from(number)), Revision::V2025_11_25);
        assert_eq!(server.send(&notice).await.status, 202);
        server.shared.dropped(number).await;
        let mut response = tests::http::response(connection, &request).await.unwrap();
        let rest = response.all().await;
        assert!(
            rest.iter().all(|message| message.get("id").is_none()),
            "{rest:?}"
        );
    }
}

// Covers: LHTTP-06, LHTTP-07, LOG-05, RES-08
#[tokio::test]
async fn what_nobody_asked_for_goes_to_the_stream_of_a_get_and_nowhere_else() {
    let server = serve().await;
    for revision in [Revision::V2025_03_26, Revision::V2025_11_25] {
        let session = server.session(revision).await;
        let follow = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "test://static"}});
        server
            .message(&Request::legacy(&session, &follow, revision))
            .await;
        // Told before anybody listens, and told once.
        server.handle.notify().tools_changed();
        let mut stream = server.send(&get(&session, None, revision)).await;
        assert_eq!(
            stream.next().await.unwrap()["method"],
            "notifications/tools/list_changed"
        );
        server.handle.notify().resource_updated("test://json");
        server.handle.notify().resource_updated("test://static");
        assert_eq!(
            stream.next().await.unwrap()["params"]["uri"],
            "test://static"
        );
        let (status, _) = server
            .message(&Request::legacy(&session, &ping(2), revision))
            .await;
        assert_eq!(status, 200);
        // A newer stream takes the place of the older one.
        let mut newer = server.send(&get(&session, None, revision)).await;
        assert_eq!(stream.next().await, None);
        server.handle.notify().prompts_changed();
        assert_eq!(
            newer.next().await.unwrap()["method"],
            "notifications/prompts/list_changed"
        );
        let json_only = get(&session, None, revision).with("Accept", "application/json");
        server.refused(&json_only, 406, -32600).await;
    }
    let nowhere = Request::new("GET", Revision::V2025_11_25);
    server.refused(&nowhere, 400, -32600).await;
}

// Covers: LHTTP-04, LHTTP-07
#[tokio::test]
async fn calls_at_the_same_time_are_answered_each_on_its_own_stream() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    let mut streams = Vec::new();
    for id in 1..=3 {
        let request = call(
            &session,
            id,
            "report_and_wait",
            json!({}),
            Revision::V2025_11_25,
        );
        let mut stream = server.send(&request).await;
        assert!(stream.is_events());
        assert_eq!(stream.next().await.unwrap()["params"]["progressToken"], id);
        streams.push(stream);
    }
    server.shared.started(3).await;
    server.shared.0.go_on.notify_waiters();
    for (stream, id) in streams.iter_mut().zip(1..) {
        let rest = stream.all().await;
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0]["id"], id);
    }
}

async fn event_with_data(server: &Served, request: &Request) -> (Vec<Event>, Option<Event>) {
    let mut stream = server.send(request).await;
    assert_eq!(stream.status, 200);
    let mut before = Vec::new();
    while let Some(event) = stream.event().await {
        if event.data.is_empty() {
            before.push(event);
        } else {
            return (before, Some(event));
        }
    }
    (before, None)
}

// Covers: LHTTP-04, LHTTP-08, LHTTP-09
#[tokio::test]
async fn a_client_whose_connection_was_let_go_comes_back_for_the_answer() {
    let server = serve().await;
    let session = server.session(Revision::V2025_11_25).await;
    let (before, none) = event_with_data(
        &server,
        &call(&session, 1, "let_go", json!({}), Revision::V2025_11_25),
    )
    .await;
    assert_eq!(none, None);
    assert_eq!(before.len(), 1);
    assert!(before[0].retry.is_some());
    let place = before[0].id.clone().unwrap();
    server.shared.0.go_on.notify_waiters();
    for _ in 0..2 {
        // Also a second time, should the connection break again.
        let (_, event) =
            event_with_data(&server, &get(&session, Some(&place), Revision::V2025_11_25)).await;
        let message: Value = serde_json::from_str(&event.unwrap().data).unwrap();
        assert_eq!((text(&message), &message["id"]), ("came back", &json!(1)));
    }
}

// Covers: LHTTP-09
#[tokio::test]
async fn older_clients_see_no_event_without_a_message() {
    let server = serve().await;
    for (revision, handlers) in [
        (Revision::V2024_11_05, 2),
        (Revision::V2025_03_26, 4),
        (Revision::V2025_06_18, 6),
    ] {
        let session = server.session(revision).await;
        let mut stream = server
            .send(&call(&session, 1, "report_and_wait", json!({}), revision))
            .await;
        let first = stream.event().await.unwrap();
        assert!(!first.data.is_empty() && first.id.is_some());
        // Their connection is kept, whatever the handler asks for.
        let request = call(&session, 2, "let_go", json!({}), revision);
        let mut connection = tests::http::connect(server.address).await;
        tests::http::write(&mut connection, &request).await;
        server.shared.started(handlers).await;
        server.shared.0.go_on.notify_waiters();
        let mut response = tests::http::response(connection, &request).await.unwrap();
        assert_eq!(text(&response.message().await), "came back");
    }
}

// Covers: LHTTP-08, SEC-02
#[tokio::test]
async fn events_are_replayed_to_their_own_session_from_their_own_stream_only() {
    let server = serve().await;
    let mine = server.session(Revision::V2025_11_25).await;
    let foreign = server.session(Revision::V2025_11_25).await;
    let mut places = Vec::new();
    for id in 1..=2 {
        let request = call(
            &mine,
            id,
            "report",
            json!({"values": [1, 2, 3]}),
            Revision::V2025_11_25,
        );
        let mut stream = server.send(&request).await;
        let mut ids = Vec::new();
        while let Some(event) = stream.event().await {
            ids.extend(event.id);
        }
        assert_eq!(ids.len(), 5, "{ids:?}");
        places.push(ids);
    }
    let all: std::collections::HashSet<_> = places.iter().flatten().collect();
    assert_eq!(all.len(), 10, "ids are unique within a session");
    let request = get(&mine, Some(&places[0][2]), Revision::V2025_11_25).answering("tools/call");
    let mut stream = server.send(&request).await;
    let rest = stream.all().await;
    assert_eq!(rest.len(), 2);
    assert_eq!(rest[0]["params"]["progressToken"], 1);
    assert_eq!(rest[1]["id"], 1);
    for id in [&*places[0][2], "9:1", "1:99", "1", "", "x:y", "-1:0"] {
        server
            .refused(&get(&foreign, Some(id), Revision::V2025_11_25), 400, -32600)
            .await;
    }
    server
        .refused(
            &get(&mine, Some("1:99"), Revision::V2025_11_25),
            400,
            -32600,
        )
        .await;
}

// Covers: BATCH-01, BATCH-02, BATCH-03, BATCH-04, BATCH-05
#[tokio::test]
async fn arrays_of_messages_are_for_sessions_of_2025_03_26() {
    let server = serve().await;
    let batch =
        |session: &str, messages: Value| Request::legacy(session, &messages, Revision::V2025_03_26);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for revision in Revision::LEGACY {
        let session = server.session(revision).await;
        let request = batch(&session, json!([ping(1), ready]));
        if revision != Revision::V2025_03_26 {
            server.refused(&request, 400, -32600).await;
        }
    }
    let session = server.session(Revision::V2025_03_26).await;
    let call = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "pause", "arguments": {"ms": 20}}});
    let shake = json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let mut response = server
        .send(&batch(
            &session,
            json!([ping(1), ready, call(2), call(3), shake]),
        ))
        .await;
    assert_eq!(response.status, 200);
    let answers: Vec<Value> = serde_json::from_str(&response.text().await).unwrap();
    let mut ids: Vec<_> = answers
        .iter()
        .map(|answer| answer["id"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(
        answers.iter().find(|answer| answer["id"] == 4).unwrap()["error"]["code"],
        -32600
    );

    // Something that comes before the answers makes them a stream.
    let report = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "report", "arguments": {"values": [1]}, "_meta": {"progressToken": 5}}});
    let mut stream = server
        .send(&batch(&session, json!([report, ping(6)])))
        .await;
    assert!(stream.is_events());
    let mut messages = Vec::new();
    while let Some(event) = stream.event().await {
        messages.push(serde_json::from_str::<Value>(&event.data).unwrap());
    }
    assert_eq!(
        messages
            .iter()
            .filter(|message| message.get("id").is_some())
            .count(),
        2
    );

    assert_eq!(
        server
            .send(&batch(&session, json!([ready, ready])))
            .await
            .status,
        202
    );
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(
        server
            .send(&batch(&session, json!([response])))
            .await
            .status,
        202
    );
    for messages in [
        json!([]),
        json!([1]),
        json!([ping(1), response]),
        json!([[ping(1)]]),
    ] {
        server
            .refused(&batch(&session, messages), 400, -32600)
            .await;
    }
}

// Covers: REQ-02, REQ-03, REQ-04
#[tokio::test]
async fn a_question_goes_out_on_the_stream_of_its_call_and_is_answered_by_another_post() {
    let server = serve().await;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut shake = initialize(revision);
        let body = String::from_utf8(shake.body).unwrap();
        let can = r#""capabilities":{"elicitation":{}}"#;
        shake.body = body.replace(r#""capabilities":{}"#, can).into_bytes();
        let response = server.send(&shake).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        server
            .send(&Request::legacy(&session, &ready, revision))
            .await;
        let foreign = server.session(revision).await;

        let mut stream = server
            .send(&call(&session, 1, "ask_name", json!({}), revision))
            .await;
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|event: &String| !event.contains("elicitation/create"))
        {
            events.push(stream.event().await.unwrap().data);
        }
        let question: Value = serde_json::from_str(events.last().unwrap()).unwrap();
        assert_eq!(question["method"], "elicitation/create");
        let answer = |name: &str| {
            let result = json!({"action": "accept", "content": {"name": name}});
            json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
        };
        // Another session cannot answer in the place of the one that was asked.
        let request = Request::legacy(&foreign, &answer("Eve"), revision);
        assert_eq!(server.send(&request).await.status, 202);
        let request = Request::legacy(&session, &answer("Ada"), revision);
        assert_eq!(server.send(&request).await.status, 202);
        assert_eq!(text(&stream.next().await.unwrap()), "Hello, Ada!");
        assert_eq!(stream.next().await, None);

        // A client that takes no events cannot be asked; the call ends with that.
        let mute =
            call(&session, 2, "ask_name", json!({}), revision).with("Accept", "application/json");
        let (status, message) = server.message(&mute).await;
        assert_eq!((status, &message["result"]["isError"]), (200, &json!(true)));
    }
}
