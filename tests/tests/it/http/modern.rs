//! Modern requests over HTTP.

use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::http::support::{initialize, serve, text};

// Covers: HTTP-04, HTTP-06, HTTP-11, HDR-10, LHTTP-10
#[tokio::test]
async fn a_request_is_answered_by_one_json_message_without_a_session() {
    let server = serve().await;
    let request = Request::tool("echo", json!({"text": "hello"}))
        .header("Mcp-Session-Id", "unknown")
        .header("Last-Event-ID", "1:1");
    let mut response = server.send(&request).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("mcp-session-id"), None);
    assert_eq!(text(&response.message().await), "hello");
    for verb in ["GET", "DELETE"] {
        let request =
            Request::new(verb, Version::V2026_07_28).header("MCP-Protocol-Version", "2026-07-28");
        let response = server.send(&request).await;
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST"))
        );
    }
}

// Covers: HTTP-05, HTTP-12
#[tokio::test]
async fn a_body_that_is_not_a_message_is_a_bad_request() {
    let server = serve().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("\u{feff}{}", -32700),
        ("1", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            -32600,
        ),
    ] {
        let mut request = Request::modern(1, "server/discover", json!({}));
        request.body = body.as_bytes().to_vec();
        server.refused(&request, 400, code).await;
    }
    let claimed = Request::modern(1, "server/discover", json!({}));
    let mut batch = claimed.clone();
    batch.body = [b"[".as_slice(), &claimed.body, b"]"].concat();
    server.refused(&batch, 400, -32600).await;
}

// Covers: HTTP-06, HTTP-07, HTTP-08, PROG-01
#[tokio::test]
async fn a_notification_before_the_answer_makes_it_a_stream() {
    let server = serve().await;
    let params =
        json!({"name": "report", "arguments": {"values": [1, 2]}, "_meta": {"progressToken": "t"}});
    let request = Request::modern(7, "tools/call", params);
    let mut response = server.send(&request).await;
    assert!(response.is_events());
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    assert!(
        response
            .header("cache-control")
            .unwrap()
            .contains("no-cache")
    );
    let mut events = Vec::new();
    while let Some(event) = response.event().await {
        assert_eq!((&event.id, &event.retry), (&None, &None));
        assert_eq!(event.name, "message");
        events.push(serde_json::from_str::<Value>(&event.data).unwrap());
    }
    assert_eq!(events.len(), 3);
    assert_eq!(events[0]["method"], "notifications/progress");
    assert_eq!(events[2]["id"], 7);
    assert!(events[2]["result"].is_object());

    // A client that does not accept events receives none, and a client that accepts neither content type receives an
    // error.
    let plain = request.clone().with("Accept", "application/json");
    assert_eq!(server.message(&plain).await.0, 200);
    server
        .refused(&request.with("Accept", "text/html"), 406, -32600)
        .await;
}

// Covers: HTTP-09, CANC-01, SEC-05
#[tokio::test]
async fn a_client_that_goes_away_drops_its_call() {
    let server = serve().await;
    let mut waiting = tests::http::connect(server.address).await;
    tests::http::write(&mut waiting, &Request::tool("wait", json!({}))).await;
    server.shared.started(1).await;
    drop(waiting);
    server.shared.dropped(1).await;

    let params = json!({"name": "report_and_wait", "_meta": {"progressToken": 1}});
    let mut streaming = server.send(&Request::modern(1, "tools/call", params)).await;
    streaming.next().await.unwrap();
    server.shared.started(2).await;
    drop(streaming);
    server.shared.dropped(2).await;
}

// Covers: HTTP-10
#[tokio::test]
async fn a_notification_is_accepted_and_ignored() {
    let server = serve().await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta}});
    let request =
        Request::bare(&message, Version::V2026_07_28).header("MCP-Protocol-Version", "2026-07-28");
    let mut response = server.send(&request).await;
    assert_eq!((response.status, &*response.text().await), (202, ""));
    server
        .refused(
            &request.with("MCP-Protocol-Version", "2025-11-25"),
            400,
            -32020,
        )
        .await;
    let message = json!({"jsonrpc": "2.0", "method": "x", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": 1}}});
    server
        .refused(&Request::bare(&message, Version::V2026_07_28), 400, -32602)
        .await;
}

fn listen(id: impl Into<Value>, filter: Value) -> Request {
    Request::modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

// Covers: SUBS-02, SUBS-03, SUBS-07, SUBS-08, SUBS-09, SUBS-10, HTTP-06
#[tokio::test]
async fn a_listener_misses_no_change_and_ends_with_a_response() {
    let server = serve().await;
    let key = "io.modelcontextprotocol/subscriptionId";
    let mut streams = Vec::new();
    for round in 0..20 {
        let mut stream = server
            .send(&listen(round, json!({"toolsListChanged": true})))
            .await;
        let first = stream.next().await.unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        server.handle.notify().tools_changed();
        let change = stream.next().await.unwrap();
        assert_eq!(change["method"], "notifications/tools/list_changed");
        assert_eq!(change["params"]["_meta"][key], round);
        streams.push(stream);
    }
    let mut last = streams.pop().unwrap();
    drop(streams);
    server.handle.shut_down();
    let rest = last.all().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(
        (&rest[0]["id"], &rest[0]["result"]["_meta"][key]),
        (&json!(19), &json!(19))
    );
    server.refused_connection().await;
}

// Covers: HTTP-06, SUBS-01
#[tokio::test]
async fn a_listen_request_must_accept_event_streams() {
    let server = serve().await;
    let request = listen(1, json!({})).with("Accept", "application/json");
    server.refused(&request, 406, -32600).await;
    let request = Request::modern(1, "subscriptions/listen", json!({}));
    server.refused(&request, 200, -32602).await;
}

// Covers: HTTP-15, LHTTP-15
#[tokio::test]
async fn the_era_of_a_request_depends_on_its_claim_and_not_on_its_header() {
    let server = serve().await;
    let request = initialize(Version::V2025_11_25).header("MCP-Protocol-Version", "2026-07-28");
    server.refused(&request, 400, -32602).await;
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    server
        .refused(&Request::bare(&discover, Version::V2026_07_28), 400, -32602)
        .await;
}

// Covers: MRTR-13, REQ-03
#[tokio::test]
async fn an_elicitation_ends_the_response_and_is_answered_by_the_next_request() {
    let server = serve().await;
    let capabilities = json!({"elicitation": {}});
    let ask = |more: Value| {
        let mut params = json!({"name": "ask_name", "_meta": {"progressToken": 1, "io.modelcontextprotocol/clientCapabilities": capabilities}});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        Request::modern(1, "tools/call", params)
    };
    let mut stream = server.send(&ask(json!({}))).await;
    let messages = stream.all().await;
    assert_eq!(messages.len(), 2);
    let result = &messages[1]["result"];
    assert_eq!(result["resultType"], "input_required");
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let request =
        ask(json!({"inputResponses": {"who": answer}, "requestState": result["requestState"]}));
    let mut stream = server.send(&request).await;
    assert_eq!(text(stream.all().await.last().unwrap()), "Hello, Ada!");
    let unable = Request::tool("ask_name", json!({}));
    server.refused(&unable, 400, -32021).await;
}
