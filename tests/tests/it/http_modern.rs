//! Modern requests over HTTP.

use mcp_runtime::{
    Context,
    dynamic::{Arguments, DynamicTool},
};
use serde_json::{Value, json};
use tests::Revision;
use tests::http::Request;

use crate::http_support::{initialize, serve, text};

// Covers: HTTP-04, HTTP-06, HTTP-11, HDR-10, LHTTP-10
#[tokio::test]
async fn a_request_is_answered_by_one_json_message_and_leaves_nothing_behind() {
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
            Request::new(verb, Revision::V2026_07_28).header("MCP-Protocol-Version", "2026-07-28");
        let response = server.send(&request).await;
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST"))
        );
    }
}

// Covers: HTTP-05, HTTP-12
#[tokio::test]
async fn what_is_no_message_is_a_bad_request() {
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

// Covers: HTTP-12, HTTP-15, HDR-01, HDR-02, HDR-03, HDR-04, DISC-04
#[tokio::test]
async fn header_and_body_are_compared_in_the_order_of_the_specification() {
    let server = serve().await;
    let ok = Request::tool("echo", json!({"text": "x"}));
    let version = "MCP-Protocol-Version";
    let without_meta =
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}});
    let with_version = |date: &str| {
        let mut request = ok.clone();
        let body = String::from_utf8(request.body).unwrap();
        request.body = body.replace("2026-07-28", date).into_bytes();
        request
    };
    for (request, status, code) in [
        // The claim can be read, then header and claim agree, then it is served.
        (
            Request::bare(&without_meta, Revision::V2026_07_28).header(version, "2026-07-28"),
            400,
            -32602,
        ),
        (ok.clone().without(version), 400, -32020),
        (with_version("v999.0.0"), 400, -32020),
        (
            with_version("v999.0.0").with(version, "v999.0.0"),
            400,
            -32022,
        ),
        (
            with_version("2025-11-25").with(version, "2025-11-25"),
            400,
            -32022,
        ),
        // Then method and name.
        (ok.clone().without("Mcp-Method"), 400, -32020),
        (ok.clone().with("Mcp-Method", "TOOLS/CALL"), 400, -32020),
        (ok.clone().without("Mcp-Name"), 400, -32020),
        (ok.clone().with("Mcp-Name", "add"), 400, -32020),
        (
            Request::modern(1, "no/such", json!({})).with("Mcp-Method", "other"),
            400,
            -32020,
        ),
        // Then whether there is such a method, and whether its parameters fit.
        (Request::modern(1, "no/such", json!({})), 404, -32601),
        (Request::modern(1, "ping", json!({})), 404, -32601),
        (Request::modern(1, "initialize", json!({})), 404, -32601),
        (
            Request::modern(1, "tools/call", json!({"name": "nobody"})),
            200,
            -32602,
        ),
        // Then what the client can do.
        (Request::tool("needs_sampling", json!({})), 400, -32021),
    ] {
        server.refused(&request, status, code).await;
    }
    for request in [
        ok.clone().with("Mcp-Name", "  echo\t"),
        ok.clone()
            .without("Mcp-Method")
            .header("mCP-mETHOD", "tools/call"),
        ok.with("Mcp-Name", "=?base64?ZWNobw==?="),
        Request::modern(1, "server/discover", json!({})).header("Mcp-Name", "ignored"),
    ] {
        assert_eq!(server.message(&request).await.0, 200);
    }
}

// Covers: HDR-05, HDR-06, HDR-07, HDR-08, HDR-09, HDR-11
#[tokio::test]
async fn fields_that_mirror_arguments_say_what_the_arguments_say() {
    let server = serve().await;
    let arguments = json!({"region": "Hello", "count": 42, "urgent": true});
    let fields = |region: &str, count: &str, urgent: &str| {
        Request::tool("mirror", arguments.clone())
            .header("Mcp-Param-Region", region)
            .header("mcp-param-count", count)
            .header("MCP-PARAM-URGENT", urgent)
            .header("Mcp-Param-Unknown", "ignored")
    };
    for request in [
        fields("Hello", "42", "true"),
        fields("=?base64?SGVsbG8=?=", "42.0", "true"),
        Request::tool("mirror", json!({"region": null})),
        // A wrong type is for the model to mend.
        Request::tool("mirror", json!({"count": "many"})).header("Mcp-Param-Count", "many"),
    ] {
        let (status, message) = server.message(&request).await;
        assert_eq!((status, message.get("error")), (200, None), "{message}");
    }
    for request in [
        fields("hello", "42", "true"),
        fields("Hello", "43", "true"),
        fields("Hello", "42", "yes"),
        fields("=?base64?SGVsbG8?=", "42", "true"),
        fields("=?base64?SGVs!!!bG8=?=", "42", "true"),
        fields("Hello", "42", "true").without("Mcp-Param-Region"),
        fields("Hello", "42", "true").header("Mcp-Param-Region", "Hello"),
        Request::tool("mirror", json!({})).header("Mcp-Param-Region", "Hello"),
        fields("H\u{e9}llo", "42", "true"),
    ] {
        server.refused(&request, 400, -32020).await;
    }
}

// Covers: HDR-06, HDR-07, HDR-11
#[tokio::test]
async fn fields_mirror_arguments_of_tools_made_at_run_time_too() {
    let server = serve().await;
    let tools = server.handle.tools();
    let tool = |schema: Value| {
        let run = async |arguments: Arguments, _: Context| {
            arguments.text("region").unwrap_or("nowhere").to_owned()
        };
        DynamicTool::new("dynamic", schema, run)
    };
    let region = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"region": {"type": "string"}}});
        for (name, value) in more.as_object().unwrap() {
            schema["properties"]["region"][name] = value.clone();
        }
        schema
    };
    let call = Request::tool("dynamic", json!({"region": "eu"}));
    let with = |value: &str| call.clone().header("Mcp-Param-Region", value);
    let check = async |request: &Request, status: u16| {
        let (got, message) = server.message(request).await;
        assert_eq!(got, status, "{message}");
        if status == 400 {
            assert_eq!(message["error"]["code"], -32020);
        }
    };
    tools
        .insert(tool(region(json!({"x-mcp-header": "Region"}))))
        .unwrap();
    check(&with("eu"), 200).await;
    check(&with("=?base64?ZXU=?="), 200).await;
    check(&with("us"), 400).await;
    check(&call, 400).await;
    // The check comes before that of the arguments, which would be the model's business.
    let wrong = Request::tool("dynamic", json!({"region": 1}));
    check(&wrong, 400).await;
    check(&wrong.header("Mcp-Param-Region", "1"), 200).await;
    // Another definition mirrors something else, or nothing.
    tools
        .replace(tool(region(json!({"x-mcp-header": "Place"}))))
        .unwrap();
    check(&with("us"), 400).await;
    check(&with("us").header("Mcp-Param-Place", "eu"), 200).await;
    tools.replace(tool(region(json!({})))).unwrap();
    check(&with("us"), 200).await;
    // A header that cannot mirror is the author's mistake, said when the tool is registered.
    for faulty in [
        json!({"x-mcp-header": "no token"}),
        json!({"x-mcp-header": "Region", "type": "number"}),
        json!({"x-mcp-header": 1}),
    ] {
        let error = tools.replace(tool(region(faulty))).unwrap_err();
        assert!(error.to_string().contains("header"), "{error}");
    }
    check(&with("us"), 200).await;
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

    // A client that takes no events is spared them, and one that takes nothing we have is told.
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
        Request::bare(&message, Revision::V2026_07_28).header("MCP-Protocol-Version", "2026-07-28");
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
        .refused(&Request::bare(&message, Revision::V2026_07_28), 400, -32602)
        .await;
}

fn listen(id: impl Into<Value>, filter: Value) -> Request {
    Request::modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

// Covers: SUBS-02, SUBS-03, SUBS-07, SUBS-08, SUBS-09, SUBS-10, HTTP-06
#[tokio::test]
async fn a_listener_loses_no_change_after_the_acknowledgement_and_is_ended_with_an_answer() {
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
async fn a_listener_takes_events() {
    let server = serve().await;
    let request = listen(1, json!({})).with("Accept", "application/json");
    server.refused(&request, 406, -32600).await;
    let request = Request::modern(1, "subscriptions/listen", json!({}));
    server.refused(&request, 200, -32602).await;
}

// Covers: HTTP-15, LHTTP-15
#[tokio::test]
async fn a_header_alone_makes_no_request_modern_and_a_claim_beats_the_method() {
    let server = serve().await;
    let request = initialize(Revision::V2025_11_25).header("MCP-Protocol-Version", "2026-07-28");
    server.refused(&request, 400, -32602).await;
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    server
        .refused(
            &Request::bare(&discover, Revision::V2026_07_28),
            400,
            -32602,
        )
        .await;
}

// Covers: MRTR-13, REQ-03
#[tokio::test]
async fn a_question_ends_the_response_and_is_answered_by_the_next_request() {
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
