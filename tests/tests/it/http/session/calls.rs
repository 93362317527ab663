//! Calls in a session, and the responses that carry their messages.

use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::{cancel, ping};
use crate::http::support::{call, initialize, serve, text};

// Covers: LHTTP-05, LHTTP-19
#[tokio::test]
async fn a_call_outlives_its_connection_but_not_its_session() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    for (number, name) in [(1, "wait"), (2, "report_and_wait")] {
        let mut connection = tests::http::connect(server.address).await;
        let request = call(
            &session,
            i64::from(number),
            name,
            json!({}),
            Version::V2025_11_25,
        );
        tests::http::write(&mut connection, &request).await;
        server.shared.started(number).await;
        drop(connection);
    }
    // The session still knows both calls: their ids are in use.
    for id in [1, 2] {
        server
            .refused(
                &call(&session, id, "nothing", json!({}), Version::V2025_11_25),
                200,
                -32600,
            )
            .await;
        // This holds for every request, as it does on other transports.
        let ping = Request::legacy(&session, &ping(id), Version::V2025_11_25);
        server.refused(&ping, 200, -32600).await;
    }
    assert_eq!(
        server
            .shared
            .0
            .dropped
            .load(std::sync::atomic::Ordering::SeqCst),
        0
    );
    let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(&delete).await.status, 204);
    server.shared.dropped(2).await;
}

// Covers: LHTTP-03
#[tokio::test]
async fn a_client_has_to_accept_json_or_events() {
    let server = serve().await;
    for version in [Version::V2025_03_26, Version::V2025_11_25] {
        let session = server.session(version).await;
        let one = call(&session, 1, "nothing", json!({}), version);
        let mut requests = vec![one];
        if version == Version::V2025_03_26 {
            let batch = json!([ping(2), ping(3)]);
            requests.push(Request::legacy(&session, &batch, version));
        }
        for request in requests {
            for (accepts, status) in [
                ("application/json", 200),
                ("text/event-stream", 200),
                ("text/html", 406),
            ] {
                let request = request.clone().with("Accept", accepts);
                assert_eq!(server.send(&request).await.status, status, "{accepts}");
            }
        }
    }
}

// Covers: LHTTP-11
#[tokio::test]
async fn a_notification_without_a_session_is_refused_on_a_server_with_sessions() {
    let server = serve().await;
    for version in [Version::V2025_03_26, Version::V2025_11_25] {
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        let request = Request::legacy("", &notice, version).without("Mcp-Session-Id");
        server.refused(&request, 400, -32600).await;
    }
}

// Covers: CANC-01, LHTTP-02
#[tokio::test]
async fn a_cancelled_call_ends_its_response_without_an_answer() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    for (number, name) in [(1, "wait"), (2, "report_and_wait")] {
        let request = call(
            &session,
            i64::from(number),
            name,
            json!({}),
            Version::V2025_11_25,
        );
        let mut connection = tests::http::connect(server.address).await;
        tests::http::write(&mut connection, &request).await;
        server.shared.started(number).await;
        let notice = Request::legacy(&session, &cancel(i64::from(number)), Version::V2025_11_25);
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

// Covers: LHTTP-04, LHTTP-07
#[tokio::test]
async fn calls_at_the_same_time_are_answered_each_on_its_own_stream() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let mut streams = Vec::new();
    for id in 1..=3 {
        let request = call(
            &session,
            id,
            "report_and_wait",
            json!({}),
            Version::V2025_11_25,
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

// Covers: BATCH-01, BATCH-02, BATCH-03, BATCH-04, BATCH-05
#[tokio::test]
async fn only_2025_03_26_sessions_accept_batches() {
    let server = serve().await;
    let batch =
        |session: &str, messages: Value| Request::legacy(session, &messages, Version::V2025_03_26);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for version in Version::LEGACY {
        let session = server.session(version).await;
        let request = batch(&session, json!([ping(1), ready]));
        if version != Version::V2025_03_26 {
            server.refused(&request, 400, -32600).await;
        }
    }
    let session = server.session(Version::V2025_03_26).await;
    let call = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "pause", "arguments": {"ms": 20}}});
    let shake = json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let mut response = server
        .send(&batch(
            &session,
            json!([ping(1), ready, call(2), call(3), shake]),
        ))
        .await;
    assert_eq!(response.status, 200);
    let answers: Vec<Value> = serde_json::from_value(response.message().await).unwrap();
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

    // A message that precedes the answers turns the response into a stream.
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
    // Nothing is run if the client does not accept the answer.
    let mut unwelcome = batch(&session, json!([call(7)]));
    unwelcome = unwelcome.with("Accept", "text/html");
    server.refused(&unwelcome, 406, -32600).await;
    // An element that is not a message receives a separate error.
    let mut answered = server
        .send(&batch(&session, json!([1, ping(1), [ping(2)]])))
        .await;
    assert_eq!(answered.status, 200);
    let answers: Vec<Value> = serde_json::from_value(answered.message().await).unwrap();
    let errors = answers.iter().map(|answer| &answer["error"]["code"]);
    let errors: Vec<_> = errors.filter(|code| !code.is_null()).collect();
    assert_eq!((answers.len(), errors), (3, vec![&json!(-32600); 2]));
    for messages in [json!([]), json!([ping(1), response])] {
        server
            .refused(&batch(&session, messages), 400, -32600)
            .await;
    }
}

// Covers: REQ-02, REQ-03, REQ-04
#[tokio::test]
async fn an_elicitation_is_sent_on_the_stream_of_its_call() {
    let server = serve().await;
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let mut shake = initialize(version);
        let body = String::from_utf8(shake.body).unwrap();
        let can = r#""capabilities":{"elicitation":{}}"#;
        shake.body = body.replace(r#""capabilities":{}"#, can).into_bytes();
        let response = server.send(&shake).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        server
            .send(&Request::legacy(&session, &ready, version))
            .await;
        let foreign = server.session(version).await;

        let mut stream = server
            .send(&call(&session, 1, "ask_name", json!({}), version))
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
        // Another session cannot answer a question on behalf of the session that was asked.
        let request = Request::legacy(&foreign, &answer("Eve"), version);
        assert_eq!(server.send(&request).await.status, 202);
        let request = Request::legacy(&session, &answer("Ada"), version);
        assert_eq!(server.send(&request).await.status, 202);
        assert_eq!(text(&stream.next().await.unwrap()), "Hello, Ada!");
        assert_eq!(stream.next().await, None);

        // A client that does not accept events cannot be asked; the call ends with that error.
        let mute =
            call(&session, 2, "ask_name", json!({}), version).with("Accept", "application/json");
        let (status, message) = server.message(&mute).await;
        assert_eq!((status, &message["result"]["isError"]), (200, &json!(true)));
    }
}
