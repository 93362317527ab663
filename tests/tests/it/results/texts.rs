//! Sanitizing leaves structured content unchanged, except for its strings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcp_runtime::extension::Sanitizer;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{CallToolResult, ErrorObject};
use serde_json::json;
use serde_json::value::RawValue;
use tests::Version;

use super::{Log, server};
use crate::support::connect;

const EXACT: &str = r#"{"n":340282366920938463463374607431768211455,"d":0.1000000000000000055511151231257827021181583404541015625,"e":1e2,"f":-0.0,"list":[[],{},true,null],"\u0061\/":"a\/b"}"#;

#[tool(tags("results"))]
fn exact() -> CallToolResult {
    let mut result = CallToolResult::text("exact");
    result.structured_content = Some(RawValue::from_string(EXACT.to_owned()).unwrap());
    result
}

#[tool(tags("results"))]
fn by_name(one: String, other: String) -> Json<BTreeMap<String, u8>> {
    Json(BTreeMap::from([(one, 1), (other, 2)]))
}

/// Fails with data whose members have these names.
#[tool(tags("results"))]
fn fail_by_name(one: &str, other: &str) -> Result<()> {
    let error = ErrorObject::invalid_params("by name").with_data(json!({one: 1, other: 2}));
    Err(HandlerError::protocol(error))
}

fn redact(text: &str) -> Cow<'_, str> {
    if text.contains("secret") {
        Cow::Owned(text.replace("secret", "***"))
    } else {
        Cow::Borrowed(text)
    }
}

// Covers: TOOL-18
#[tokio::test]
async fn sanitizing_leaves_numbers_as_they_are() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let mut client = connect(server().with(Sanitizer::new(redact)), version).await;
        let id = client.start("tools/call", json!({"name": "exact"})).await;
        let line = loop {
            let line = client.read_line().await.unwrap();
            if line.contains(&format!("\"id\":{id}")) {
                break line;
            }
        };
        assert!(
            line.contains(&format!("\"structuredContent\":{EXACT}")),
            "{line}"
        );
    }
}

// Covers: TOOL-18
#[tokio::test]
async fn sanitized_names_that_collide_are_an_internal_error() {
    let (log, _guard) = Log::begin();
    for version in Version::ERAS {
        let mut client = connect(server().with(Sanitizer::new(redact)), version).await;
        let arguments = json!({"one": "a secret", "other": "secret"});
        let result = client.tool("by_name", arguments).await;
        assert_eq!(result["structuredContent"], json!({"a ***": 1, "***": 2}));
        let arguments = json!({"one": "a secret", "other": "secret"});
        let params = json!({"name": "fail_by_name", "arguments": arguments});
        let failure = client.fails("tools/call", params, -32602).await;
        assert_eq!(failure.data, json!({"a ***": 1, "***": 2}));
        for (one, other) in [("***", "secret"), ("secret", "***")] {
            for name in ["by_name", "fail_by_name"] {
                let arguments = json!({"one": one, "other": other});
                let params = json!({"name": name, "arguments": arguments});
                let failure = client.fails("tools/call", params, -32603).await;
                assert_eq!(failure.message, "internal error");
                let reference = failure.data["reference"].as_str().unwrap();
                assert_eq!(reference.len(), 16);
                let log = log.take();
                for expected in [name, "`***`", reference] {
                    assert!(log.contains(expected), "{expected}: {log}");
                }
            }
        }
    }
}
