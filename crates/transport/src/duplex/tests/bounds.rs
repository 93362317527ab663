//! Tests for the bounds on how much memory a client can make the server hold, and for how long.

use std::time::Duration;

use mcp_core::limits::Limits;
use serde_json::{Value, json};

use super::client::{Client, call, cancel, ids};

#[tokio::test(start_paused = true)]
async fn maximum_timeouts_set_no_deadlines() {
    let limits = Limits::default().with(|limits| {
        limits.calls.drain_timeout = Duration::MAX;
        limits.streams.stall_timeout = Duration::MAX;
    });
    let mut client = Client::with_buffer(limits, 64).await;
    // The client stops reading for longer than a server usually tolerates.
    for _ in 0..10 {
        client.send(&call(1, "echo")).await;
    }
    tokio::time::sleep(Duration::from_hours(1)).await;
    for _ in 0..10 {
        assert_eq!(client.receive().await, json!({"id": 1, "result": "echo"}));
    }
    client.send(&call(2, "gate")).await;
    client.send(&call(3, "echo")).await;
    assert_eq!(client.receive().await["id"], 3);
    client.listen().await;
    client.shut_down();
    assert_eq!(client.receive().await["end"], true);
    tokio::time::sleep(Duration::from_hours(1)).await;
    client.open_gate();
    assert_eq!(client.receive().await["id"], 2);
    client.ended().await.unwrap();
}

#[tokio::test]
async fn queued_calls_are_bounded_by_their_size() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_running = 1;
        limits.message.max_line_bytes = 1_000;
    });
    let mut client = Client::new(limits).await;
    client.send(&call(1, "gate")).await;
    let long = |id| call(id, "gate").replace("\"name\"", &format!("{:400}\"name\"", ""));
    for id in 2..=4 {
        client.send(&long(id)).await;
    }
    let refused = client.receive().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(4), &json!(429))
    );
    client.open_gate();
    assert_eq!(client.receive_ids(3).await, [1, 2, 3]);
}

/// Limits that leave room for about four answers from `big`.
fn small() -> Limits {
    Limits::default().with(|limits| {
        limits.streams.max_outgoing_bytes = 200;
        limits.calls.max_result_bytes = 2_000;
    })
}

/// Returns the number of answers that are results.
fn results(answers: &[Value]) -> usize {
    let results = answers.iter().filter(|answer| answer["error"].is_null());
    results.count()
}

#[tokio::test]
async fn answers_that_wait_for_the_rest_of_their_array_are_bounded() {
    let mut client = Client::new(small()).await;
    let mut calls: Vec<_> = (1..=20).map(|id| call(id, "big")).collect();
    calls.push(call(21, "pending"));
    client.send(&format!("[{}]", calls.join(","))).await;
    client.until_under_way(21).await;
    client.open_gate();
    client.until_under_way(1).await;
    client.send(&cancel(21)).await;
    let line = client.receive().await;
    let answers = line.as_array().unwrap();
    assert_eq!(answers.len(), 20);
    assert_eq!(results(answers), 4);
    // There is room for answers again.
    client.send(&call(1, "big")).await;
    assert_eq!(client.receive().await["error"], json!(null));
}

#[tokio::test]
async fn batches_waiting_for_responses_are_bounded() {
    let mut client = Client::new(Limits::default()).await;
    for id in 1..=64 {
        client.send(&format!("[{}]", call(id, "pending"))).await;
    }
    client.send(&format!("[{}]", call(65, "pending"))).await;
    assert_eq!(client.receive().await["error"]["code"], 429);
    client.send(&cancel(1)).await;
    client.send(&format!("[{}]", call(65, "echo"))).await;
    assert_eq!(client.receive().await[0]["id"], 65);
}

#[tokio::test]
async fn answers_that_wait_for_the_client_to_read_are_bounded() {
    let mut client = Client::with_buffer(small(), 64).await;
    let calls: String = (1..=20).map(|id| call(id, "big") + "\n").collect();
    client.send_raw(calls.as_bytes()).await;
    client.until_under_way(20).await;
    client.open_gate();
    client.until_under_way(0).await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(client.receive().await);
    }
    assert_eq!(results(&answers), 4);
    let mut found = ids(&answers);
    found.sort_unstable();
    assert_eq!(found, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn messages_that_calls_send_before_their_responses_are_bounded() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_outgoing_bytes = 1_000;
        limits.log.max_per_second = 100_000;
    });
    let mut client = Client::with_buffer(limits, 64).await;
    for id in 1..=3 {
        client.send(&call(id, "flood")).await;
    }
    client.until_under_way(3).await;
    client.open_gate();
    client.until_under_way(0).await;
    let (mut reader, _writer) = client.split();
    let (mut sent, mut answers) = (0, 0);
    while answers < 3 {
        let line = reader.try_receive_line().await.unwrap();
        if line.contains("notifications/message") {
            sent += line.len();
        } else {
            answers += 1;
        }
    }
    // 1,000 bytes and the rest of a message wait for the client, which has read 64 bytes.
    assert!((900..1_200).contains(&sent), "{sent}");
}
