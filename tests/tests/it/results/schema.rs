//! A result that does not match the output schema of its tool is not sent.

#![allow(
    clippy::zero_sized_map_values,
    reason = "a map whose values cannot be serialized"
)]

use std::collections::BTreeMap;

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::extension::Sanitizer;
use mcp_runtime::handler::IntoToolResult;
use mcp_runtime::prelude::*;
use mcp_runtime::types::CallToolResult;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tests::http::Request;
use tests::{Client, Failure, Version};

use super::{Log, server};
use crate::http::support::serve_server;
use crate::support::connect;

/// A measurement.
#[data(output)]
struct Measured {
    value: f64,
    perhaps: Option<f64>,
}

fn number(of: &str) -> f64 {
    of.parse().unwrap()
}

#[tool(tags("results"))]
fn bare_number(of: String) -> Json<f64> {
    Json(number(&of))
}

#[tool(tags("results"))]
fn measured(value: String, perhaps: String) -> Json<Measured> {
    Json(Measured {
        value: number(&value),
        perhaps: Some(number(&perhaps)),
    })
}

#[tool(tags("results"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the return type is what is tested"
)]
fn many(of: Vec<String>) -> Result<Json<Vec<f32>>> {
    #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
    Ok(Json(of.iter().map(|of| number(of) as f32).collect()))
}

#[tool(tags("results"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the return type is what is tested"
)]
fn perhaps_a_number(of: String) -> Option<Json<f64>> {
    Some(Json(number(&of)))
}

/// Returns a value that cannot be serialized.
#[tool(tags("results"))]
fn unwritable() -> Json<BTreeMap<u8, Unwritable>> {
    Json(BTreeMap::from([(1, Unwritable)]))
}

#[derive(schemars::JsonSchema)]
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("the secret cause"))
    }
}

/// A result type with a hand-written output schema.
struct Own(Value);

impl IntoToolResult for Own {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Json(self.0).into_tool_result()
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(json_schema!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        }))
    }
}

#[tool(tags("results"))]
fn own(city: String) -> Own {
    Own(match city.as_str() {
        "none" => json!({}),
        "1" => json!({"city": 1}),
        city => json!({"city": city}),
    })
}

/// The urgency of a ticket.
#[data(output)]
enum Urgency {
    Low,
    High,
}

#[data(output)]
struct Ticket {
    urgency: Urgency,
    id: u128,
}

#[tool(tags("results"))]
fn ticket(urgent: bool) -> Json<Ticket> {
    let urgency = if urgent { Urgency::High } else { Urgency::Low };
    Json(Ticket {
        urgency,
        id: u128::MAX,
    })
}

/// Returns a tool that returns the result it is given, with an output schema that requires a city.
fn told() -> DynamicTool {
    let schema = json!({"type": "object"});
    let tool = async |arguments: Arguments, _: Context| -> Result<CallToolResult> {
        let told = arguments.0;
        let mut result = CallToolResult::text("told");
        if let Some(structured) = told.get("structured") {
            result.structured_content = Some(to_raw_value(structured)?);
        }
        result.is_error = told.contains_key("error");
        Ok(result)
    };
    let output = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 5}},
        "required": ["city"],
    });
    DynamicTool::new("told", schema, tool).output_schema(output)
}

fn serving() -> Server {
    let server = server();
    server.handle().tools().insert(told()).unwrap();
    server
}

/// Checks that the client gets only a reference and that the log contains the details with that reference.
fn is_internal(failure: &Failure, log: &Log, said: &[&str]) {
    assert_eq!(failure.message, "internal error");
    let reference = failure.data["reference"].as_str().unwrap();
    let log = log.take();
    for said in said.iter().chain(&[reference, "ERROR"]) {
        assert!(log.contains(said), "{said} in {log}");
    }
}

async fn fails(client: &mut Client, name: &str, arguments: Value) -> Failure {
    let params = json!({"name": name, "arguments": arguments});
    client.fails("tools/call", params, -32603).await
}

// Covers: TOOL-11, TOOL-13
#[tokio::test]
async fn nan_and_infinity_for_a_number_schema_are_an_internal_error() {
    let (log, _guard) = Log::begin();
    for version in Version::ALL {
        let mut client = connect(serving(), version).await;
        for of in ["NaN", "inf", "-inf"] {
            let failure = fails(&mut client, "bare_number", json!({"of": of})).await;
            is_internal(&failure, &log, &["bare_number", "expected number", "NaN"]);
            let failure = fails(&mut client, "many", json!({"of": ["1", of]})).await;
            is_internal(&failure, &log, &["many", "/1"]);
            let values = json!({"value": of, "perhaps": "1"});
            let failure = fails(&mut client, "measured", values).await;
            is_internal(&failure, &log, &["measured", "/value"]);
            // The schema allows null here.
            let values = json!({"value": "1.5", "perhaps": of});
            let text = client.text("measured", values).await;
            assert_eq!(text, r#"{"value":1.5,"perhaps":null}"#);
            let text = client.text("perhaps_a_number", json!({"of": of})).await;
            assert_eq!(text, "null");
        }
        let text = client.text("bare_number", json!({"of": "1.5"})).await;
        assert_eq!(text, "1.5");
    }
}

// Covers: TOOL-11
#[tokio::test]
async fn a_result_that_cannot_be_written_is_an_internal_error() {
    let (log, _guard) = Log::begin();
    for version in Version::ALL {
        let mut client = connect(serving(), version).await;
        let failure = fails(&mut client, "unwritable", json!({})).await;
        is_internal(&failure, &log, &["unwritable", "the secret cause"]);
    }
}

// Covers: TOOL-11, TOOL-13
#[tokio::test]
async fn a_result_outside_the_schema_its_author_wrote_is_an_internal_error() {
    let (log, _guard) = Log::begin();
    for version in Version::ALL {
        let mut client = connect(serving(), version).await;
        client
            .tool("told", json!({"structured": {"city": "Oslo"}}))
            .await;
        for (structured, said) in [
            (json!({}), "city"),
            (json!({"city": 5}), "/city"),
            (json!({"city": "Bergen"}), "/city"),
            (json!("Oslo"), "object"),
            (json!(null), "object"),
        ] {
            let told = json!({"structured": structured});
            let failure = fails(&mut client, "told", told).await;
            is_internal(&failure, &log, &["told", "output schema", said]);
        }
        let failure = fails(&mut client, "told", json!({})).await;
        is_internal(&failure, &log, &["told", "no structured content"]);
        // The output schema does not apply to failures.
        client.refused("told", json!({"error": true})).await;
        let told = json!({"error": true, "structured": {"city": 5}});
        client.refused("told", told).await;
        client.text("own", json!({"city": "Oslo"})).await;
        for city in ["none", "1"] {
            let failure = fails(&mut client, "own", json!({"city": city})).await;
            is_internal(&failure, &log, &["own", "city"]);
        }
    }
}

// Covers: TOOL-13
#[tokio::test]
async fn results_changed_by_middleware_must_match_the_output_schema() {
    let spoil = |server: Server| {
        server.middleware(async |call, next| {
            let spoilt = call.arguments().0.get("urgent") == Some(&json!(true));
            let mut answer = next.run(call).await?;
            if let mcp_runtime::middleware::CallOutput::Tool(result) = &mut answer
                && spoilt
            {
                result.structured_content = None;
            }
            Ok(answer)
        })
    };
    let reword = |server: Server| {
        server.with(Sanitizer::new(|text| {
            if text.contains("High") {
                text.replace("High", "***").into()
            } else {
                text.into()
            }
        }))
    };
    let (log, _guard) = Log::begin();
    for version in Version::ERAS {
        for server in [spoil(serving()), reword(serving())] {
            let mut client = connect(server, version).await;
            let text = client.text("ticket", json!({"urgent": false})).await;
            assert!(text.contains(&u128::MAX.to_string()), "{text}");
            let failure = fails(&mut client, "ticket", json!({"urgent": true})).await;
            is_internal(&failure, &log, &["ticket"]);
        }
    }
}

// Covers: TOOL-13
#[tokio::test]
async fn over_http_results_that_violate_their_schema_are_not_sent() {
    let server = serve_server(serving()).await;
    for name in ["told", "unwritable"] {
        let (status, message) = server.message(&Request::tool(name, json!({}))).await;
        assert_eq!((status, &message["error"]["code"]), (200, &json!(-32603)));
        let session = server.session(Version::V2025_11_25).await;
        let call = crate::http::support::call(&session, 1, name, json!({}), Version::V2025_11_25);
        let (status, message) = server.message(&call).await;
        assert_eq!((status, &message["error"]["code"]), (200, &json!(-32603)));
    }
}

// Covers: TOOL-13
#[tokio::test]
async fn output_validation_can_be_disabled() {
    for version in Version::ERAS {
        let server = serving().skip_output_checks();
        let mut client = connect(server, version).await;
        // The results are read without the checks of the test client, which compares results with their schemas.
        for (name, arguments, expected) in [
            ("bare_number", json!({"of": "NaN"}), "null"),
            ("told", json!({"structured": {"city": 5}}), "told"),
        ] {
            let params = json!({"name": name, "arguments": arguments});
            let id = client.start("tools/call", params).await;
            let result = client.response(&id).await.unwrap();
            assert_eq!(result["content"][0]["text"], expected);
        }
    }
}

#[tokio::test]
#[should_panic(expected = "`told` has the output schema")]
async fn the_test_client_refuses_output_that_violates_its_schema() {
    let mut client = connect(serving().skip_output_checks(), Version::V2026_07_28).await;
    let told = json!({"structured": {"city": 5}});
    client.tool("told", told).await;
}
