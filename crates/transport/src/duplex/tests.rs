//! Tests of a channel, with a server whose tools block, panic, wait and send as needed.

mod bounds;
mod client;
mod faulty;
mod races;
pub(crate) mod server;

use std::time::Duration;

use client::{Client, call, cancel, handshake, ids, request};
use mcp_core::limits::Limits;
use serde_json::json;

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_call_is_answered() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await, json!({"id": 1, "result": "echo"}));
    client.finish().await.unwrap();
}

#[tokio::test]
async fn lines_that_are_not_messages_are_answered_and_the_channel_goes_on() {
    let limits = Limits::default().with(|limits| limits.message.max_line_bytes = 300);
    let mut client = Client::new(limits).await;
    client.send("nonsense").await;
    client.send(&"x".repeat(301)).await;
    client.send("\r").await;
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    assert_eq!(client.receive().await["error"]["code"], -32600);
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn a_second_request_with_an_id_in_use_is_refused_and_the_first_goes_on() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "gate")).await;
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.open_gate();
    assert_eq!(client.receive().await, json!({"id": 1, "result": "gate"}));
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await, json!({"id": 1, "result": "echo"}));
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "pending")).await;
    client.send(&call(2, "echo")).await;
    assert_eq!(client.receive().await["id"], 2);
    assert_eq!(client.under_way(), 1);
    client.send(&cancel(1)).await;
    client.send(&cancel(1)).await;
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
    client.until_idle().await;
    client.finish().await.unwrap();
}

#[tokio::test]
async fn ids_are_compared_with_their_type() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call("\"1\"", "gate")).await;
    client.send(&cancel(1)).await;
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await["id"], 1);
    client.open_gate();
    assert_eq!(client.receive().await["id"], "1");
}

#[tokio::test]
async fn ids_are_compared_by_value_and_not_by_notation() {
    let mut client = Client::new(Limits::default()).await;
    for (id, same) in [(r#""a/b""#, r#""a\/b""#), ("0", "-0")] {
        client.send(&call(id, "pending")).await;
        client.send(&call(same, "echo")).await;
        assert_eq!(client.receive().await["error"]["code"], -32600);
        client.send(&cancel(same)).await;
        client.send(&call(7, "echo")).await;
        assert_eq!(client.receive().await["id"], 7);
        client.until_idle().await;
    }
}

#[tokio::test]
async fn a_panic_in_any_poll_becomes_an_internal_error() {
    let mut client = Client::new(Limits::default()).await;
    for (id, method) in [(1, "panic"), (2, "panic_later")] {
        client.send(&call(id, method)).await;
        let answer = client.receive().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32603))
        );
    }
    client.send(&call(4, "echo")).await;
    assert_eq!(client.receive().await["id"], 4);
    client.until_idle().await;
}

#[tokio::test]
async fn calls_over_the_limits_wait_and_then_are_refused() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_running = 2;
        limits.calls.max_queued = 3;
    });
    let mut client = Client::new(limits).await;
    for id in 1..=6 {
        client.send(&call(id, "gate")).await;
    }
    let refused = client.receive().await;
    assert_eq!(refused["id"], 6);
    assert_eq!(refused["error"]["code"], 429);
    assert_eq!(refused["error"]["data"]["retryAfterMs"], 1_000);
    // A queued call can be cancelled.
    client.send(&cancel(4)).await;
    client.send(&call(7, "gate")).await;
    client.send(&request(8, "ping", "{}")).await;
    assert_eq!(client.receive().await["id"], 8);
    client.open_gate();
    assert_eq!(client.receive_ids(5).await, [1, 2, 3, 5, 7]);
    client.until_idle().await;
}

#[tokio::test]
async fn messages_of_a_call_are_sent_before_its_response_and_never_after() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "progress")).await;
    assert_eq!(client.receive().await["progress"], 1);
    assert_eq!(client.receive().await["id"], 1);
    // The handler keeps sending after its answer, but those messages are dropped.
    client.send(&call(2, "progress_after")).await;
    assert_eq!(client.receive().await["progress"], 1);
    assert_eq!(client.receive().await["id"], 2);
    while !client.has_sent_late() {
        tokio::task::yield_now().await;
    }
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
}

#[tokio::test]
async fn a_stream_is_never_polled_as_part_of_a_call() {
    let written = faulty::written_within_a_call(&(call(1, "progress_later") + "\n")).await;
    assert!(!written);
}

#[tokio::test]
async fn notifications_are_sent_when_the_session_wakes() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "echo")).await;
    client.receive().await;
    client.notify();
    assert_eq!(
        client.receive().await["notification"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn everything_is_answered_and_written_before_the_end() {
    let mut client = Client::with_buffer(Limits::default(), 64).await;
    let lines: Vec<_> = (0..500)
        .map(|id| call(id, if id % 3 == 0 { "yield" } else { "echo" }))
        .collect();
    let all = client.send_all_and_end(&lines).await;
    let mut found = ids(&all);
    found.sort_unstable();
    assert_eq!(found, (0..500).collect::<Vec<_>>());
    client.ended().await.unwrap();
}

#[tokio::test]
async fn a_last_message_needs_no_line_end_and_half_of_one_is_an_error() {
    let mut client = Client::new(Limits::default()).await;
    let all = client.send_raw_and_end(call(1, "yield").as_bytes()).await;
    assert_eq!(ids(&all), [1]);
    let mut client = Client::new(Limits::default()).await;
    let all = client.send_raw_and_end(b"{\"id\":1,\"meth").await;
    assert_eq!(all[0]["error"]["code"], -32700);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_exceeds_the_drain_timeout_gets_an_error() {
    let mut client = Client::new(Limits::default()).await;
    let started = tokio::time::Instant::now();
    let all = client
        .send_all_and_end(&[call(1, "pending"), call(2, "sleep")])
        .await;
    assert_eq!(all[0], json!({"id": 2, "result": "sleep"}));
    assert_eq!(all[1]["id"], 1);
    assert_eq!(all[1]["error"]["code"], -32603);
    client.ended().await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 5);
    client.until_idle().await;
}

#[tokio::test]
async fn shutting_down_finishes_running_calls() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "gate")).await;
    client.send(&call(2, "echo")).await;
    assert_eq!(client.receive().await["id"], 2);
    client.listen().await;
    client.shut_down();
    assert_eq!(client.receive().await["end"], true);
    client.open_gate();
    assert_eq!(client.receive().await["id"], 1);
    client.ended().await.unwrap();
}

#[tokio::test]
async fn while_shutting_down_requests_are_refused_and_cancellations_handled() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "pending")).await;
    client.send(&call(2, "echo")).await;
    assert_eq!(client.receive().await["id"], 2);
    client.listen().await;
    client.shut_down();
    assert_eq!(client.receive().await["end"], true);
    client.send(&call(3, "echo")).await;
    let refused = client.receive().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(3), &json!(-32603))
    );
    client.send(&cancel(1)).await;
    let ended = tokio::time::timeout(Duration::from_secs(2), client.ended());
    ended.await.expect("the cancel is not heard").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_is_not_read_from_and_disconnected() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_outgoing_bytes = 4_096;
        limits.calls.max_queued = 8;
    });
    let mut client = Client::with_buffer(limits, 256).await;
    let line = call(1, "echo");
    let mut sent = 0_u32;
    while tokio::time::timeout(Duration::from_secs(1), client.send(&line))
        .await
        .is_ok()
    {
        sent += 1;
    }
    assert!((20..1_000).contains(&sent), "{sent}");
    let error = client.ended().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_client_that_reads_late_gets_every_answer() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_outgoing_bytes = 4_096;
        limits.calls.max_queued = 8;
    });
    let client = Client::with_buffer(limits, 256).await;
    let (mut reader, mut writer) = client.split();
    let sending = tokio::spawn(async move {
        for id in 0..2_000 {
            writer.send(&call(id, "echo")).await;
        }
        writer
    });
    tokio::time::sleep(SHORT).await;
    let mut found = Vec::new();
    for _ in 0..2_000 {
        found.push(reader.receive().await["id"].as_i64().unwrap());
    }
    found.sort_unstable();
    assert_eq!(found, (0..2_000).collect::<Vec<_>>());
    sending.await.unwrap();
}

#[tokio::test]
async fn a_hundred_thousand_pipelined_requests_are_answered_in_order() {
    let client = Client::with_buffer(Limits::default(), 64 << 10).await;
    let (mut reader, mut writer) = client.split();
    let sending = tokio::spawn(async move {
        for thousand in 0..100 {
            let ids = thousand * 1_000..(thousand + 1) * 1_000;
            let text: String = ids.map(|id| request(id, "ping", "{}") + "\n").collect();
            writer.send_raw(text.as_bytes()).await;
        }
        writer
    });
    for id in 0..100_000 {
        assert_eq!(reader.receive().await["id"], id);
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn a_handler_with_a_slow_first_poll_is_spawned_as_a_task_the_next_time() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "block_shortly")).await;
    assert_eq!(client.receive().await["id"], 1);
    let lines = [call(2, "block_shortly"), request(3, "ping", "{}")];
    client.send(&lines.join("\n")).await;
    assert_eq!(client.receive().await["id"], 3);
    assert_eq!(client.receive().await["id"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_behind_a_handler_that_blocks_its_thread_is_answered_soon() {
    let mut fastest = Duration::MAX;
    // The machine may be busy, so only the fastest of several attempts counts.
    for _ in 0..20 {
        let mut client = Client::new(Limits::default()).await;
        client.send(&call(1, "block")).await;
        let began = std::time::Instant::now();
        client.send(&call(2, "echo")).await;
        assert_eq!(client.receive().await["id"], 2);
        fastest = fastest.min(began.elapsed());
        client.unblock();
        client.finish().await.unwrap();
        if fastest < SHORT {
            return;
        }
    }
    panic!("{fastest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_ping_behind_handlers_that_block_their_threads_is_answered() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "block")).await;
    client.send(&call(2, "block")).await;
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
    // One of the blocked calls is cancelled, so it is not answered when it returns.
    client.send(&cancel(1)).await;
    client.send(&call(4, "echo")).await;
    assert_eq!(client.receive().await["id"], 4);
    client.unblock();
    assert_eq!(client.receive().await["id"], 2);
    client.send(&call(1, "echo")).await;
    assert_eq!(client.receive().await["result"], "echo");
    client.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_cancelled_while_it_blocks_is_dropped_at_its_next_await() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "block_and_wait")).await;
    client.send(&call(2, "echo")).await;
    assert_eq!(client.receive().await["id"], 2);
    client.send(&cancel(1)).await;
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
    assert_eq!(client.under_way(), 1);
    client.unblock();
    client.until_under_way(0).await;
    client.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_cancelled_at_random_are_answered_at_most_once_and_others_always() {
    let client = Client::new(Limits::default()).await;
    let (mut reader, mut writer) = client.split();
    let sending = tokio::spawn(async move {
        let mut random = 1_u32;
        let methods = ["echo", "yield", "sleep_short", "pending", "slow"];
        for (id, method) in (0..3_000).zip(methods.into_iter().cycle()) {
            writer.send(&call(id, method)).await;
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let behind = i64::from((random >> 16) % 4);
            if id >= behind && (random >> 24).is_multiple_of(2) {
                writer.send(&cancel(id - behind)).await;
                writer.cancelled.push(id - behind);
            }
            if method == "pending" {
                writer.send(&cancel(id)).await;
                writer.cancelled.push(id);
            }
        }
        writer.send(&call(-1, "echo")).await;
        writer.end().await;
        writer.cancelled
    });
    let mut seen = std::collections::HashSet::new();
    while let Some(answer) = reader.try_receive().await {
        if let Some(id) = answer["id"].as_i64() {
            assert!(seen.insert(id), "{id} was answered twice");
        }
    }
    let cancelled = sending.await.unwrap();
    for id in (-1..3_000).filter(|id| !cancelled.contains(id)) {
        assert!(seen.contains(&id), "{id} was not answered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn no_response_is_lost_or_duplicated_while_leaders_change() {
    let client = Client::new(Limits::default()).await;
    let (mut reader, mut writer) = client.split();
    let sending = tokio::spawn(async move {
        for id in 0..400_i64 {
            let method = if id % 20 == 0 {
                "block_shortly"
            } else {
                "yield"
            };
            writer.send(&call(id, method)).await;
            if id % 40 == 20 || id % 7 == 0 {
                writer.send(&cancel(id)).await;
                writer.cancelled.push(id);
            }
        }
        writer.end().await;
        writer.cancelled
    });
    let mut seen = std::collections::HashSet::new();
    while let Some(answer) = reader.try_receive().await {
        if let Some(id) = answer["id"].as_i64() {
            assert!(seen.insert(id), "{id} was answered twice");
            assert_eq!(answer["error"], json!(null), "{id}");
        }
    }
    let cancelled = sending.await.unwrap();
    for id in (0..400).filter(|id| !cancelled.contains(id)) {
        assert!(seen.contains(&id), "{id} was not answered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn timers_go_on_while_handlers_block() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "block")).await;
    for id in 2..12 {
        client.send(&call(id, "sleep_short")).await;
        assert_eq!(client.receive().await["id"], id);
    }
    client.unblock();
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn a_batch_is_one_line_of_answers() {
    let mut client = Client::open(Limits::default(), 1 << 20, "2025-06-18").await;
    client.send("[1]").await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.finish().await.unwrap();
    let mut client = Client::new(Limits::default()).await;

    let list = |lines: &[String]| format!("[{}]", lines.join(","));
    client
        .send(&list(&[
            call(1, "gate"),
            call(2, "echo"),
            "5".into(),
            "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}".into(),
        ]))
        .await;
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
    client.open_gate();
    let answers = client.receive().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers.iter().any(|answer| answer["id"] == 1));

    // Notifications and cancelled calls have no answer, and neither does a batch that contains only these.
    client
        .send("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]")
        .await;
    client
        .send(&list(&[call(4, "pending"), call(5, "pending")]))
        .await;
    client.send(&list(&[cancel(4), cancel(5)])).await;
    client
        .send(&list(&[call(6, "pending"), call(7, "echo")]))
        .await;
    client.send(&cancel(6)).await;
    assert_eq!(client.receive().await, json!([{"id": 7, "result": "echo"}]));

    client
        .send(&list(&[call(8, "echo"), call(8, "echo")]))
        .await;
    assert_eq!(client.receive().await.as_array().unwrap().len(), 2);
    client.send(&list(&vec![call(9, "echo"); 101])).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client
        .send(&list(&[server::ECHO.trim_end().to_owned()]))
        .await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.finish().await.unwrap();
}

#[tokio::test]
async fn partial_and_pending_reads_and_writes_do_not_change_responses() {
    for step in 1..40 {
        let calls = (1..6).map(|id| call(id, if id % 2 == 0 { "yield" } else { "echo" }));
        let lines: String = handshake("2025-03-26")
            .into_iter()
            .chain(calls)
            .map(|line| line + "\r\n")
            .collect();
        let all = faulty::through_faulty_streams(lines.as_bytes(), step).await;
        let mut found = ids(&all);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4, 5], "every {step}");
    }
}

#[tokio::test]
async fn dropping_the_server_drops_its_calls() {
    let mut client = Client::new(Limits::default()).await;
    client.send(&call(1, "pending")).await;
    client.send(&call(2, "echo")).await;
    client.receive().await;
    client.abort();
    client.until_idle().await;
}
