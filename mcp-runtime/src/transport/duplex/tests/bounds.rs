//! What a client can make the server hold, and for how long.

use std::time::Duration;

use serde_json::json;

use super::client::{Client, call};
use crate::limits::Limits;

#[tokio::test(start_paused = true)]
async fn times_without_end_are_no_deadlines() {
    let limits = Limits {
        drain: Duration::MAX,
        stalled: Duration::MAX,
        ..Limits::default()
    };
    let mut client = Client::with_buffer(limits, 64);
    // The client reads nothing for longer than a server usually bears.
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
    client.shut_down();
    assert_eq!(client.receive().await["end"], true);
    tokio::time::sleep(Duration::from_hours(1)).await;
    client.open_gate();
    assert_eq!(client.receive().await["id"], 2);
    client.ended().await.unwrap();
}
