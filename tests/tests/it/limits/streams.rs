//! Subscriptions, and output that the client has not yet read.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::transport::memory;
use serde_json::json;
use tests::{Client, Version};
use tokio::io::AsyncWriteExt as _;

use crate::fixture;
use crate::support::limited;

// Covers: SEC-05, SUBS-11
// Limits: streams.max_subscriptions, streams.max_listens
#[tokio::test]
async fn the_numbers_of_subscriptions_and_listen_requests_are_limited() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_subscriptions = 2;
        limits.streams.max_listens = 2;
    });
    let mut legacy = limited(Version::V2025_11_25, limits.clone()).await;
    for (uri, fits) in [
        ("a://1", true),
        ("a://2", true),
        ("a://2", true),
        ("a://3", false),
    ] {
        assert_eq!(
            legacy
                .request("resources/subscribe", json!({"uri": uri}))
                .await
                .is_ok(),
            fits,
            "{uri}"
        );
    }
    let mut modern = limited(Version::V2026_07_28, limits).await;
    let filter = json!({"notifications": {"resourceSubscriptions": ["a://1", "a://2", "a://3"]}});
    modern.fails("subscriptions/listen", filter, -32602).await;
    for _ in 0..2 {
        modern
            .start("subscriptions/listen", json!({"notifications": {}}))
            .await;
        modern
            .notification("notifications/subscriptions/acknowledged")
            .await;
    }
    modern
        .fails("subscriptions/listen", json!({"notifications": {}}), -32602)
        .await;
}

// Covers: SEC-05, STDIO-03
#[tokio::test]
async fn the_time_that_output_stays_unread_is_limited() {
    let (transport, stream) = memory();
    let limits = Limits::default().with(|limits| {
        limits.streams.stall_timeout = Duration::from_millis(200);
        limits.streams.max_outgoing_bytes = 10_000;
    });
    let server = tokio::spawn(fixture::server().limits(limits).serve(transport));
    let (reader, writer) = tokio::io::split(stream);
    let mut client = Client::new(reader, writer, Version::V2025_11_25)
        .connect()
        .await;
    for id in 0..100 {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "fill", "arguments": {"bytes": 50_000}},
        });
        let line = format!("{call}\n");
        if client.try_bytes(line.as_bytes()).await.is_err() {
            break;
        }
    }
    let ended = tokio::time::timeout(tests::client::PATIENCE, server).await;
    let error = ended.expect("it is closed in time").unwrap().unwrap_err();
    assert!(error.to_string().contains("is not reading"), "{error}");
}

/// Counts the pings that the server reads from a client that reads none of the answers.
async fn taken_unread(outgoing: usize) -> usize {
    let (transport, mut stream) = memory();
    let limits = Limits::default().with(|limits| limits.streams.max_outgoing_bytes = outgoing);
    let server = tokio::spawn(fixture::server().limits(limits).serve(transport));
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}
"#;
    let mut taken = 0;
    // The paused clock advances only when there is nothing else to do.
    while tokio::time::timeout(Duration::from_millis(10), stream.write_all(ping))
        .await
        .is_ok()
    {
        taken += 1;
    }
    server.abort();
    taken
}

// Covers: STDIO-03
// Limits: streams.max_outgoing_bytes
#[tokio::test(start_paused = true)]
async fn the_bytes_waiting_to_be_written_are_limited() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.len() + 1;
    // Everything else that both sides hold is the same in both runs.
    let less = taken_unread(10_000).await;
    let more = taken_unread(100_000).await;
    let expected = 90_000 / answer;
    assert!(
        (expected - 250..=expected + 250).contains(&(more - less)),
        "{less}, {more}"
    );
}

// Covers: SEC-05, STDIO-07
#[tokio::test]
async fn the_time_of_calls_after_the_end_of_input_is_limited() {
    for (drain, finished) in [(50, false), (5_000, true)] {
        let limits = Limits::default()
            .with(|limits| limits.calls.drain_timeout = Duration::from_millis(drain));
        let mut client = limited(Version::V2025_11_25, limits).await;
        client
            .start(
                "tools/call",
                json!({"name": "pause", "arguments": {"ms": 500}}),
            )
            .await;
        client.close().await;
        let mut results = 0;
        while let Some(message) = client.read().await {
            // Work that is cut short gets an error, so that every request has exactly one answer.
            results += i32::from(
                message
                    .get("result")
                    .is_some_and(|result| result["isError"] != true),
            );
        }
        assert_eq!(results, i32::from(finished), "{drain} ms");
    }
}
