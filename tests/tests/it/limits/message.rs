//! Lengths and depths of messages and their parts.

use mcp_runtime::Limits;
use serde_json::{Value, json};
use tests::{Client, Version};

use crate::support::limited;

fn ping_of(length: usize) -> String {
    let empty =
        json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": ""}}).to_string();
    let filler = "x".repeat(length - empty.len());
    json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": filler}}).to_string()
}

async fn served(client: &mut Client, line: &str) -> bool {
    client.remember(&json!({"id": "p", "method": "ping"}));
    client.line(line).await;
    let answer = client.read().await.unwrap();
    client.pass().await;
    answer.get("result").is_some()
}

// Covers: SEC-05, STDIO-06
// Limits: message.max_line_bytes
#[tokio::test]
async fn the_length_of_a_line_is_limited() {
    let mut client = limited(
        Version::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_line_bytes = 1_000),
    )
    .await;
    for (length, fits) in [(999, true), (1_000, true), (1_001, false), (5_000, false)] {
        assert_eq!(
            served(&mut client, &ping_of(length)).await,
            fits,
            "{length}"
        );
    }
}

// Covers: SEC-05
// Limits: message.max_depth
#[tokio::test]
async fn the_depth_of_a_message_is_limited() {
    let mut client = limited(
        Version::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_depth = 10),
    )
    .await;
    // The message and its parameters account for two levels.
    for (depth, fits) in [(9, true), (10, true), (11, false)] {
        let nested = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping","params":{{"x":{nested}}}}}"#);
        assert_eq!(served(&mut client, &line).await, fits, "{depth}");
    }
}

// Covers: SEC-05
// Limits: message.max_values
#[tokio::test]
async fn the_number_of_values_in_a_message_is_limited() {
    let mut client = limited(
        Version::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_values = 1_000),
    )
    .await;
    for (items, fits) in [(900, true), (980, true), (1_001, false)] {
        let line =
            json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": vec![1; items]}})
                .to_string();
        assert_eq!(served(&mut client, &line).await, fits, "{items}");
    }
}

// Covers: SEC-05, BASE-02
// Limits: message.max_id_bytes
#[tokio::test]
async fn the_length_of_a_request_id_is_limited() {
    let mut client = limited(
        Version::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_id_bytes = 10),
    )
    .await;
    for (length, fits) in [(9, true), (10, true), (11, false)] {
        let message = json!({"jsonrpc": "2.0", "id": "i".repeat(length), "method": "ping"});
        client.remember(&message);
        client.line(&message.to_string()).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer.get("result").is_some(), fits, "{length}");
        assert!(fits || answer["error"]["code"] == -32600);
    }
}

// Covers: SEC-05, TOOL-09
// Limits: message.max_name_bytes
#[tokio::test]
async fn the_length_of_a_name_is_limited() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| limits.message.max_name_bytes = 10);
        let mut client = limited(version, limits).await;
        for (length, fits) in [(9, true), (10, true), (11, false)] {
            for method in ["tools/call", "prompts/get"] {
                let name = json!({"name": "x".repeat(length)});
                let failure = client.fails(method, name, -32602).await;
                let refused = failure.message.contains("longer than 10 bytes");
                assert_eq!(refused, !fits, "{method}: {}", failure.message);
            }
        }
        // Names of nine, ten and eleven letters, all of existing tools.
        client.refused("arguments", json!({})).await;
        client.tool("structured", json!({})).await;
        client
            .fails("tools/call", json!({"name": "panic_later"}), -32602)
            .await;
    }
}

// Covers: SEC-05, RES-04
// Limits: message.max_uri_bytes, message.max_cursor_bytes
#[tokio::test]
async fn the_lengths_of_uris_and_cursors_are_limited() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| {
            limits.message.max_uri_bytes = 13;
            limits.message.max_cursor_bytes = 20;
        });
        let mut client = limited(version, limits).await;
        client
            .ok("resources/read", json!({"uri": "test://static"}))
            .await;
        client
            .fails("resources/read", json!({"uri": "test://several"}), -32602)
            .await;
        client
            .fails("tools/list", json!({"cursor": "x".repeat(21)}), -32602)
            .await;
        if !version.is_modern() {
            client
                .ok("resources/subscribe", json!({"uri": "test://static"}))
                .await;
            client
                .fails(
                    "resources/subscribe",
                    json!({"uri": "test://static2"}),
                    -32602,
                )
                .await;
        }
    }
}

// Covers: SEC-05, BATCH-06
// Limits: message.max_batch
#[tokio::test]
async fn the_length_of_a_batch_is_limited() {
    let mut client = limited(
        Version::V2025_03_26,
        Limits::default().with(|limits| limits.message.max_batch = 3),
    )
    .await;
    for (length, fits) in [(2, true), (3, true), (4, false)] {
        let batch: Vec<Value> = (0..length)
            .map(|index| json!({"jsonrpc": "2.0", "id": format!("{index}"), "method": "ping"}))
            .collect();
        client.send(&json!(batch)).await;
        let answer = client.read().await.unwrap();
        assert_eq!(
            answer.as_array().map(Vec::len),
            fits.then_some(length),
            "{answer}"
        );
    }
}
