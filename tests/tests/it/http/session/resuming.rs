//! Streams of a session: that of a GET, and the rest of a response whose connection was lost.

use serde_json::{Value, json};
use tests::Version;
use tests::http::{Event, Request};

use super::{get, ping};
use crate::http::support::{Served, call, serve, text};

// Covers: LHTTP-06, LHTTP-07, LOG-05, RES-08
#[tokio::test]
async fn unrequested_messages_are_sent_only_on_the_get_stream() {
    let server = serve().await;
    for version in [Version::V2025_03_26, Version::V2025_11_25] {
        let session = server.session(version).await;
        let follow = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "test://static"}});
        server
            .message(&Request::legacy(&session, &follow, version))
            .await;
        // A notification is sent before a client listens, and it is delivered only once.
        server.handle.notify().tools_changed();
        let mut stream = server.send(&get(&session, None, version)).await;
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
            .message(&Request::legacy(&session, &ping(2), version))
            .await;
        assert_eq!(status, 200);
        // A newer stream replaces the older one.
        let mut newer = server.send(&get(&session, None, version)).await;
        assert_eq!(stream.next().await, None);
        server.handle.notify().prompts_changed();
        assert_eq!(
            newer.next().await.unwrap()["method"],
            "notifications/prompts/list_changed"
        );
        let json_only = get(&session, None, version).with("Accept", "application/json");
        server.refused(&json_only, 406, -32600).await;
    }
    let nowhere = Request::new("GET", Version::V2025_11_25);
    server.refused(&nowhere, 400, -32600).await;
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
async fn a_client_whose_connection_was_closed_gets_the_response_on_resuming() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let (before, none) = event_with_data(
        &server,
        &call(&session, 1, "let_go", json!({}), Version::V2025_11_25),
    )
    .await;
    assert_eq!(none, None);
    assert_eq!(before.len(), 1);
    assert!(before[0].retry.is_some());
    let place = before[0].id.clone().unwrap();
    server.shared.0.go_on.notify_waiters();
    for _ in 0..2 {
        // This works a second time, should the connection be lost again.
        let (_, event) =
            event_with_data(&server, &get(&session, Some(&place), Version::V2025_11_25)).await;
        let message: Value = serde_json::from_str(&event.unwrap().data).unwrap();
        assert_eq!((text(&message), &message["id"]), ("came back", &json!(1)));
    }
}

// Covers: LHTTP-09
#[tokio::test]
async fn older_clients_see_no_event_without_a_message() {
    let server = serve().await;
    for (version, handlers) in [
        (Version::V2024_11_05, 2),
        (Version::V2025_03_26, 4),
        (Version::V2025_06_18, 6),
    ] {
        let session = server.session(version).await;
        let mut stream = server
            .send(&call(&session, 1, "report_and_wait", json!({}), version))
            .await;
        let first = stream.event().await.unwrap();
        assert!(!first.data.is_empty() && first.id.is_some());
        // The connection is kept, even if the handler asks to close it.
        let request = call(&session, 2, "let_go", json!({}), version);
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
async fn only_events_of_the_same_session_and_stream_are_replayed() {
    let server = serve().await;
    let mine = server.session(Version::V2025_11_25).await;
    let foreign = server.session(Version::V2025_11_25).await;
    let mut places = Vec::new();
    for id in 1..=2 {
        let request = call(
            &mine,
            id,
            "report",
            json!({"values": [1, 2, 3]}),
            Version::V2025_11_25,
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
    let request = get(&mine, Some(&places[0][2]), Version::V2025_11_25).answering("tools/call");
    let mut stream = server.send(&request).await;
    let rest = stream.all().await;
    assert_eq!(rest.len(), 2);
    assert_eq!(rest[0]["params"]["progressToken"], 1);
    assert_eq!(rest[1]["id"], 1);
    for id in [&*places[0][2], "9:1", "1:99", "1", "", "x:y", "-1:0"] {
        server
            .refused(&get(&foreign, Some(id), Version::V2025_11_25), 400, -32600)
            .await;
    }
    server
        .refused(&get(&mine, Some("1:99"), Version::V2025_11_25), 400, -32600)
        .await;
}
