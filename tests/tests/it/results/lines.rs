//! Raw JSON from handlers is sent on one line, regardless of its formatting.

use mcp_runtime::prelude::*;
use mcp_runtime::types::{CallToolResult, ContentBlock, LoggingLevel};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::server;
use crate::http::support::serve_server;
use crate::support::connect;

const PRETTY: &str = "{\n  \"a\": 1,\r\n  \"b\": \"x\\ny\"\r}";

fn pretty() -> Box<RawValue> {
    RawValue::from_string(PRETTY.to_owned()).unwrap()
}

#[derive(Serialize)]
struct Around {
    raw: Box<RawValue>,
}

/// Sends JSON with line breaks wherever a handler can send JSON.
#[tool(tags("results"))]
fn several_lines(ctx: &Context) -> CallToolResult {
    ctx.info(pretty());
    ctx.log_as(
        LoggingLevel::Error,
        Some("two\nlines"),
        Around { raw: pretty() },
    );
    ctx.progress((1, 2, "two\nlines"));
    let mut result = CallToolResult::new([ContentBlock::text(PRETTY)]);
    result.structured_content = Some(pretty());
    result.with_meta("com.example/x", json!({"two\nlines": "two\r\nlines"}))
}

fn logged(messages: &[Value]) -> Vec<&Value> {
    let logs = messages.iter();
    let logs = logs.filter(|message| message["method"] == "notifications/message");
    logs.map(|message| &message["params"]["data"]).collect()
}

fn params() -> Value {
    json!({
        "name": "several_lines",
        "_meta": {"io.modelcontextprotocol/logLevel": "debug", "progressToken": 7},
    })
}

// Covers: STDIO-01, LOG-05
#[tokio::test]
async fn json_of_several_lines_leaves_as_one_line() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        // The client reads line by line and fails if a line is not a message.
        let result = client.ok("tools/call", params()).await;
        assert_eq!(result["content"][0]["text"], PRETTY);
        let data = json!({"a": 1, "b": "x\ny"});
        if version >= Version::V2025_06_18 {
            assert_eq!(result["structuredContent"], data);
            assert_eq!(
                result["_meta"]["com.example/x"]["two\nlines"],
                "two\r\nlines"
            );
        }
        let sent = client.drain().await;
        assert_eq!(logged(&sent), [&data, &json!({"raw": data})]);
    }
}

// Covers: STDIO-01
#[tokio::test]
async fn an_event_has_one_line_of_data() {
    let server = serve_server(server()).await;
    let session = server.session(Version::V2025_11_25).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params()});
    for request in [
        Request::legacy(&session, &call, Version::V2025_11_25),
        Request::modern(1, "tools/call", params()),
    ] {
        let mut response = server.send(&request).await;
        let mut messages = Vec::new();
        while let Some(event) = response.event().await {
            assert!(!event.data.contains(['\n', '\r']), "{:?}", event.data);
            if !event.data.is_empty() {
                messages.push(serde_json::from_str(&event.data).unwrap());
            }
        }
        let data = json!({"a": 1, "b": "x\ny"});
        assert_eq!(logged(&messages), [&data, &json!({"raw": data})]);
    }
}
