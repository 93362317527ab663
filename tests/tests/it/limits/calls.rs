//! Calls: their number, duration, threads and results.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;

use super::tight;
use crate::fixture;
use crate::support::{connect, limited};

// Covers: SEC-05
// Limits: calls.max_running, calls.max_queued
#[tokio::test]
async fn the_number_of_running_and_queued_calls_is_limited() {
    for version in Version::ERAS {
        let shared = fixture::Shared::default();
        let limits = Limits::default().with(|limits| {
            limits.calls.max_running = 2;
            limits.calls.max_queued = 1;
        });
        let server = fixture::server().state(shared.clone()).limits(limits);
        let mut client = connect(server, version).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(client.start("tools/call", json!({"name": "wait"})).await);
        }
        client.response(&ids[3]).await.unwrap_err();
        shared.started(2).await;
        client.cancel(&ids[0]).await;
        shared.started(3).await;
        shared.0.go_on.notify_waiters();
        client.response(&ids[1]).await.unwrap();
        client.response(&ids[2]).await.unwrap();
    }
}

// Covers: SEC-05, TOOL-11
// Limits: calls.max_result_bytes
#[tokio::test]
async fn the_size_of_a_result_is_limited() {
    for version in Version::ERAS {
        let mut client = limited(
            version,
            Limits::default().with(|limits| limits.calls.max_result_bytes = 10_000),
        )
        .await;
        let text = client.refused("fill", json!({"bytes": 11_000})).await;
        // The wording is the same in every protocol version.
        let expected = "the result is larger than 10000 bytes; ask for less";
        assert_eq!(text, expected);
        // The rest of the message counts too, so the test searches for the largest length that fits.
        let (mut fits, mut exceeds) = (9_000, 10_000);
        while exceeds - fits > 1 {
            let bytes = usize::midpoint(fits, exceeds);
            let params = json!({"name": "fill", "arguments": {"bytes": bytes}});
            let result = client.request("tools/call", params).await.unwrap();
            let around = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            if result["isError"] == true {
                exceeds = bytes;
            } else {
                fits = bytes;
                let length = around.to_string().len();
                // An id has one or two digits.
                assert!(length <= 10_000, "{length}");
            }
        }
        assert!(fits > 9_500, "{fits}");
    }
}

// Covers: SEC-05, TOOL-11
// Limits: calls.timeout
#[tokio::test(start_paused = true)]
async fn the_time_of_a_tool_call_is_limited() {
    let limits = Limits::default().with(|limits| limits.calls.timeout = Duration::from_millis(50));
    for version in Version::ERAS {
        let mut client = limited(version, limits.clone()).await;
        client.text("pause", json!({"ms": 49})).await;
        client.refused("pause", json!({"ms": 52})).await;
        client.refused("wait", json!({})).await;
        client.text("add", json!({"a": 1, "b": 2})).await;
    }
}

// Covers: SEC-05, SEC-06, COMP-05
// Limits: calls.max_completions_per_second, calls.max_completion_bytes
#[tokio::test]
async fn the_input_and_rate_of_completions_are_limited() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| {
            limits.calls.max_completion_bytes = 10;
            limits.calls.max_completions_per_second = 5;
        });
        let mut client = limited(version, limits).await;
        let params = |value: &str| json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": value}});
        client
            .ok("completion/complete", params(&"x".repeat(10)))
            .await;
        client
            .fails("completion/complete", params(&"x".repeat(11)), -32602)
            .await;
        let mut refused = 0;
        for _ in 0..40 {
            refused += u32::from(
                client
                    .request("completion/complete", params(""))
                    .await
                    .is_err(),
            );
        }
        assert!(refused > 10, "{refused} of 40 refused");
    }
}

// Covers: SEC-05
// Limits: calls.max_blocking
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_blocking_threads_is_limited() {
    for (calls, most) in [(1, 1), (2, 2), (3, 2), (6, 2)] {
        let limits = Limits::default().with(|limits| limits.calls.max_blocking = 2);
        let (mut client, held) = tight(Version::V2026_07_28, limits).await;
        let mut ids = Vec::new();
        for _ in 0..calls {
            ids.push(client.start("tools/call", json!({"name": "hold"})).await);
        }
        for id in ids {
            client.response(&id).await.unwrap();
        }
        assert_eq!(held.most.load(Ordering::SeqCst), most, "{calls}");
    }
}

// Covers: SEC-05, SEC-06, LOG-06
// Limits: log.max_per_second
#[tokio::test]
async fn the_log_messages_of_a_session_are_rate_limited() {
    for (messages, arrive) in [(9, 9), (10, 10), (11, 10), (500, 10)] {
        let limits = Limits::default().with(|limits| limits.log.max_per_second = 5);
        let (mut client, _) = tight(Version::V2025_11_25, limits).await;
        client.tool("chatter", json!({"messages": messages})).await;
        // One more message may have been let through while the messages were being generated.
        let seen = client.drain().await.len();
        assert!((arrive..=arrive + 1).contains(&seen), "{messages}: {seen}");
    }
}

// Covers: SEC-05, SEC-06, PROG-03
// Limits: calls.max_progress_per_second
#[tokio::test]
async fn the_progress_notifications_of_a_call_are_rate_limited() {
    for (steps, least, most) in [(4, 4, 4), (5, 5, 5), (6, 6, 6), (500, 6, 7)] {
        let limits = Limits::default().with(|limits| limits.calls.max_progress_per_second = 5);
        let (mut client, _) = tight(Version::V2025_11_25, limits).await;
        let params = json!({"name": "steps", "arguments": {"steps": steps}, "_meta": {"progressToken": "t"}});
        client.ok("tools/call", params).await;
        let seen = client.drain().await;
        assert!(
            (least..=most).contains(&seen.len()),
            "{steps}: {}",
            seen.len()
        );
        assert_eq!(
            seen.last().unwrap()["params"]["progress"],
            steps,
            "the last is never lost"
        );
    }
}

// Covers: SEC-05
// Limits: calls.max_blocking_queued
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_thread_is_limited_and_not_part_of_the_tool_timeout() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_blocking = 1;
        limits.calls.max_blocking_queued = 2;
        limits.calls.timeout = Duration::from_millis(360);
    });
    let (mut client, _) = tight(Version::V2026_07_28, limits).await;
    // Each takes 150 ms, and they run one after another: the third waits longer than a tool is allowed to take.
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.start("tools/call", json!({"name": "hold"})).await);
    }
    for id in ids {
        let result = client.response(&id).await.unwrap();
        assert_eq!(result.get("isError"), None, "{result}");
    }
    let mut refused = 0;
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(client.start("tools/call", json!({"name": "hold"})).await);
    }
    for id in ids {
        let result = client.response(&id).await.unwrap();
        if result["isError"] == true {
            let text = "too many calls that block a thread at once; try again in 1 s";
            assert_eq!(result["content"][0]["text"], text);
            refused += 1;
        }
    }
    assert!(refused >= 1, "{refused}");
}
