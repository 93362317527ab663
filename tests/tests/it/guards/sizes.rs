//! The size of a result, the duration of a prompt, and the length of a log message.

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tokio::time::advance;

use super::{SECOND, server};
use crate::support::connect;

// Covers: SEC-05
#[tokio::test]
async fn a_result_is_limited_to_the_size_that_its_handler_allows() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let call = |bytes: usize| json!({"name": "short", "arguments": {"bytes": bytes}});
        let overhead = 1_000 - {
            // The maximum length of the text in an answer.
            let mut most = 1_000;
            while client.ok("tools/call", call(most)).await["isError"] == true {
                most -= 1;
            }
            most
        };
        assert!((50..300).contains(&overhead), "{overhead}");
        let text = client.refused("short", json!({"bytes": 1_000})).await;
        let expected = "the result is larger than 1000 bytes; ask for less";
        assert_eq!(text, expected);
        client
            .ok("resources/read", json!({"uri": "guards://short/500"}))
            .await;
        client
            .fails(
                "resources/read",
                json!({"uri": "guards://short/1000"}),
                -32603,
            )
            .await;
    }
    // An option of a handler does not raise the server's limit.
    let limits = Limits::default().with(|limits| limits.calls.max_result_bytes = 500);
    let mut client = connect(server().limits(limits), Version::V2026_07_28).await;
    client.refused("short", json!({"bytes": 600})).await;
}

#[tokio::test(start_paused = true)]
async fn a_prompt_has_a_custom_timeout() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let id = client
            .start("prompts/get", json!({"name": "endless"}))
            .await;
        client.pass().await;
        advance(5 * SECOND).await;
        let failure = client.response(&id).await.unwrap_err();
        assert_eq!(failure.message, "took longer than 5s and was stopped");
    }
}

// Covers: SEC-05, LOG-06
// Limits: log.max_message_bytes
#[tokio::test]
async fn the_size_of_a_log_message_is_limited() {
    let limits = Limits::default().with(|limits| limits.log.max_message_bytes = 100);
    for version in Version::ERAS {
        let mut client = connect(server().limits(limits.clone()), version).await;
        if version.is_modern() {
            let level = "io.modelcontextprotocol/logLevel";
            client.meta.insert(level.into(), json!("debug"));
        }
        // The quotes count towards the length.
        for (characters, is_whole) in [(97, true), (98, true), (99, false), (5_000, false)] {
            client.tool("log", json!({"characters": characters})).await;
            let seen = client.drain().await;
            let data = seen[0]["params"]["data"].as_str().unwrap();
            assert_eq!(data == "x".repeat(characters), is_whole, "{data}");
            assert!(seen[0]["params"]["data"].to_string().len() <= 100);
            assert_eq!(data.contains("bytes in total"), !is_whole, "{data}");
        }
    }
}
