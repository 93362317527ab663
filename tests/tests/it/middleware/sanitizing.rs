//! Sanitizers change all text that a model reads.

use std::borrow::Cow;

use mcp_runtime::extension::Sanitizer;
use serde_json::{Value, json};
use tests::{Client, Version};

use super::{redact, server};
use crate::support::connect;

async fn said(client: &mut Client, method: &str, params: Value) -> String {
    match client.request(method, params).await {
        Ok(result) => result.to_string(),
        Err(failure) => failure.message,
    }
}

// Covers: TOOL-18
#[tokio::test]
async fn every_text_a_model_reads_is_sanitized() {
    for version in Version::ERAS {
        let server = server()
            .with(Sanitizer::new(redact))
            .with(Sanitizer::new(mcp_runtime::values::strip_invisible));
        let mut client = connect(server, version).await;
        for (method, params) in [
            ("tools/call", json!({"name": "report"})),
            ("tools/call", json!({"name": "fails"})),
            (
                "tools/call",
                json!({"name": "greet", "arguments": {"name": "secret"}}),
            ),
            (
                "tools/call",
                json!({"name": "greet", "arguments": {"name": 1, "secret": 2}}),
            ),
            (
                "prompts/get",
                json!({"name": "review", "arguments": {"code": "x"}}),
            ),
            (
                "prompts/get",
                json!({"name": "review", "arguments": {"code": "x", "secret": "y"}}),
            ),
            ("resources/read", json!({"uri": "middleware://one"})),
            ("resources/read", json!({"uri": "middleware://many/none"})),
        ] {
            let said = said(&mut client, method, params.clone()).await;
            assert!(
                said.contains("***") && !said.contains("secret"),
                "{params}: {said}"
            );
        }
        let report = client.tool("report", json!({})).await;
        assert_eq!(
            report["structuredContent"],
            json!({"text": "a ***", "lines": ["*** one", "two"]})
        );
        let text = client
            .text("greet", json!({"name": "\u{1b}[1mAda\u{E0041}"}))
            .await;
        assert_eq!(text, "Hello, Ada!");
    }
}

#[tokio::test]
async fn a_panic_in_a_sanitizer_is_an_internal_error_without_the_text() {
    let server = server().with(Sanitizer::new(|text| {
        assert!(!text.contains("secret"), "cannot be cleaned");
        Cow::Borrowed(text)
    }));
    let mut client = connect(server, Version::V2026_07_28).await;
    let failure = client
        .fails("tools/call", json!({"name": "report"}), -32603)
        .await;
    assert_eq!(failure.message, "internal error");
    client.text("greet", json!({"name": "Ada"})).await;
}
