//! Handlers cannot answer with an error code that the protocol version forbids or that would be false.

use mcp_runtime::prelude::*;
use mcp_runtime::types::ErrorObject;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::{Log, server};
use crate::http::support::{call, serve_server};
use crate::support::connect;

fn error(code: i32, data: Option<Value>) -> HandlerError {
    let error = ErrorObject::new(code, "what the author says");
    HandlerError::protocol(match data {
        Some(data) => error.with_data(data),
        None => error,
    })
}

/// Fails with this code.
#[tool(tags("results"))]
fn coded(code: i32, data: Option<Value>) -> Result<String> {
    Err(error(code, data))
}

/// Fails with this code, a little later.
#[tool(tags("results"))]
async fn coded_later(code: i32, data: Option<Value>) -> Result<String> {
    tokio::task::yield_now().await;
    Err(error(code, data))
}

#[prompt(tags("results"))]
fn coded_prompt(code: i32) -> Result<String> {
    Err(error(code, None))
}

#[resource_template("results://coded/{code}", tags("results"))]
fn coded_resource(code: i32) -> Result<String> {
    Err(error(code, None))
}

/// Returns codes, their data, and the codes that clients get before 2025-11-25, in 2025-11-25, and in 2026-07-28.
fn table() -> Vec<(i32, Value, [i32; 3])> {
    let capabilities = json!({"requiredCapabilities": {"sampling": {}}});
    let link = json!({
        "mode": "url", "elicitationId": "1", "url": "https://example.com", "message": "Pay",
    });
    let same = |code: i32| (code, Value::Null, [code; 3]);
    let never = |code: i32| (code, Value::Null, [-32603; 3]);
    vec![
        same(4711),
        same(-1),
        same(-31999),
        same(-32769),
        same(i32::MIN),
        same(-32602),
        same(-32603),
        (-32002, Value::Null, [-32002, -32002, -32602]),
        (
            -32042,
            json!({"elicitations": [link]}),
            [-32603, -32042, -32603],
        ),
        never(-32042),
        (-32021, capabilities, [-32603, -32603, -32021]),
        never(-32021),
        never(-32020),
        never(-32022),
        never(-32023),
        never(-32099),
        never(-32100),
        never(-32000),
        never(-32001),
        never(-32003),
        never(-32019),
        never(-32600),
        never(-32601),
        never(-32700),
        never(-32768),
    ]
}

fn in_version(codes: [i32; 3], version: Version) -> i64 {
    let [before, then, now] = codes;
    i64::from(match version {
        Version::V2026_07_28 => now,
        Version::V2025_11_25 => then,
        _ => before,
    })
}

// Covers: BASE-12
#[tokio::test]
async fn codes_of_handlers_are_codes_of_the_protocol_version() {
    let (log, _guard) = Log::begin();
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        for (code, data, codes) in table() {
            let expected = in_version(codes, version);
            let mut arguments = json!({"code": code});
            if !data.is_null() {
                arguments["data"] = data.clone();
            }
            for name in ["coded", "coded_later"] {
                let params = json!({"name": name, "arguments": arguments});
                let failure = client.fails("tools/call", params, expected).await;
                assert_eq!(failure.message, "what the author says");
                assert_eq!(failure.data, data);
                let log = log.take();
                let is_told = log.contains(&format!("code={code}")) && log.contains(name);
                assert_eq!(is_told, expected != i64::from(code), "{code}: {log}");
            }
            if data.is_null() {
                let params =
                    json!({"name": "coded_prompt", "arguments": {"code": code.to_string()}});
                client.fails("prompts/get", params, expected).await;
                let params = json!({"uri": format!("results://coded/{code}")});
                client.fails("resources/read", params, expected).await;
            }
        }
    }
}

// Covers: BASE-12
#[tokio::test]
async fn over_http_error_codes_of_handlers_are_mapped_to_the_version() {
    // An event that first occurs while there is no subscriber could be off for a subscriber that is set at the same
    // moment, such as that of the test above.
    let _log = Log::begin();
    let server = serve_server(server()).await;
    for version in Version::ALL {
        let session = match version {
            Version::V2026_07_28 => String::new(),
            legacy => server.session(legacy).await,
        };
        for (number, (code, data, codes)) in (1..).zip(table()) {
            let expected = in_version(codes, version);
            let mut arguments = json!({"code": code});
            if !data.is_null() {
                arguments["data"] = data;
            }
            let request = match version {
                Version::V2026_07_28 => Request::tool("coded", arguments),
                legacy => call(&session, number, "coded", arguments, legacy),
            };
            let (status, message) = server.message(&request).await;
            assert_eq!(message["error"]["code"], expected, "{message}");
            // Other statuses are reserved for errors of the request or of the server.
            let means_request = expected == -32021;
            assert_eq!(status, if means_request { 400 } else { 200 }, "{message}");
        }
    }
}
