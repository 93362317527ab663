//! The size limit of a handler applies to its results, not to its questions.

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use serde_json::json;
use tests::{Answer, Version};

use super::server;
use crate::support::raw;

/// A name, in a form that is larger than the result may be.
#[derive(Elicit)]
struct Name {
    /// The name by which you are known to everybody who knows you, in the spelling that you like best of all
    name: String,
}

/// Asks for a name, and repeats it the given number of times.
#[tool(tags("results"), max_output = "300B")]
async fn briefly(ctx: Context, times: usize) -> Result<String> {
    let Name { name } = ctx.elicit("Who are you?").await?;
    Ok(name.repeat(times))
}

/// Returns as many bytes as requested.
#[tool(tags("results"), max_output = "300B")]
fn at_length(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[prompt(tags("results"), max_output = "20B")]
fn fails_at_length() -> Result<String> {
    bail!("{}", "x".repeat(100))
}

// Covers: TOOL-19
#[tokio::test]
async fn input_requests_do_not_count_towards_the_output_limit() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let mut client = raw(server(), version);
        client.capabilities = json!({"elicitation": {}});
        let mut client = client.connect().await;
        client.answer(|_| Answer::accept(json!({"name": "Ada"})));
        let call = |times: usize| json!({"name": "briefly", "arguments": {"times": times}});
        let result = client.ask("tools/call", call(1)).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Ada", "{result}");
        assert_eq!(client.asked.len(), 1);
        let result = client.ask("tools/call", call(200)).await.unwrap();
        assert_eq!(
            result["content"][0]["text"],
            "the result is larger than 300 bytes; ask for less"
        );
    }
}

#[tokio::test]
async fn a_result_may_be_as_large_as_its_limit() {
    for version in Version::ERAS {
        let mut client = raw(server(), version).connect().await;
        let mut line = async |bytes: usize| {
            let params = json!({"name": "at_length", "arguments": {"bytes": bytes}});
            client.start("tools/call", params).await;
            client.read_line().await.unwrap()
        };
        let most = 300 - line(0).await.trim_end().len();
        assert_eq!(line(most).await.trim_end().len(), 300);
        assert!(line(most + 1).await.contains("larger than 300 bytes"));
    }
}

// Covers: META-05
#[tokio::test]
async fn errors_of_the_protocol_are_not_counted_as_output() {
    for version in Version::ALL {
        let mut client = raw(server(), version).connect().await;
        let params = json!({"name": "briefly", "arguments": {"times": 1}});
        let answer = client.request("tools/call", params).await;
        if version.is_modern() {
            let failure = answer.unwrap_err();
            assert_eq!(failure.code, -32021);
            assert_eq!(
                failure.data["requiredCapabilities"],
                json!({"elicitation": {}})
            );
        } else {
            let text = answer.unwrap()["content"][0]["text"].to_string();
            assert!(text.contains("does not declare"), "{text}");
        }
        let failure = client
            .fails("prompts/get", json!({"name": "fails_at_length"}), -32603)
            .await;
        assert_eq!(failure.message, "x".repeat(100));
    }
}

#[tokio::test]
async fn an_error_is_never_larger_than_any_answer_may_be() {
    let limits = Limits::default().with(|limits| limits.calls.max_result_bytes = 1_000);
    for version in Version::ALL {
        let server = new_server!()
            .only([prompt(long_code)])
            .limits(limits.clone());
        let mut client = raw(server, version).connect().await;
        let failure = client
            .fails("prompts/get", json!({"name": "long_code"}), 4711)
            .await;
        assert_eq!(
            failure.message,
            "the error is larger than 1000 bytes, so its text was removed"
        );
    }
}

#[prompt]
fn long_code() -> Result<String> {
    let error = mcp_runtime::types::ErrorObject::new(4711, "x".repeat(2_000));
    Err(HandlerError::protocol(error))
}
