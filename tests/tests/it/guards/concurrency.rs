//! Concurrent calls, and calls that wait for a permit.

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tests::wait::in_time;
use tokio::time::advance;

use super::{Gate, SECOND, server};
use crate::fixture::Shared;
use crate::support::connect;

// Covers: SEC-05, CANC-06
// Limits: calls.max_waiting
#[tokio::test(start_paused = true)]
async fn calls_above_the_concurrency_wait_and_cancelled_ones_free_permits() {
    let limits = Limits::default().with(|limits| limits.calls.max_waiting = 2);
    for version in Version::ERAS {
        let shared = Shared::default();
        let server = server().state(shared.clone()).limits(limits.clone());
        let mut client = connect(server, version).await;
        let params = json!({"name": "two_at_once"});
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(client.start("tools/call", params.clone()).await);
        }
        shared.started(2).await;
        // Two are running, two are waiting, and a fifth is too many.
        let refused = client.refused("two_at_once", json!({})).await;
        assert_eq!(refused, "too many of these calls at once; try again in 1 s");
        // If one of the waiting calls ends, another can wait.
        client.cancel(&ids[3]).await;
        client.pass().await;
        ids[3] = client.start("tools/call", params.clone()).await;
        client.pass().await;
        // If one of the running calls ends, a waiting one can run.
        client.cancel(&ids[0]).await;
        shared.dropped(1).await;
        shared.started(3).await;
        client.cancel(&ids[1]).await;
        shared.started(4).await;
        shared.0.go_on.notify_waiters();
        for id in &ids[2..] {
            assert_eq!(
                client.response(id).await.unwrap()["content"][0]["text"],
                "waited"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_call_is_paused_while_it_waits_for_a_permit() {
    for version in Version::ERAS {
        let shared = Shared::default();
        let mut client = connect(server().state(shared.clone()), version).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            let params = json!({"name": "two_at_once"});
            ids.push(client.start("tools/call", params).await);
        }
        shared.started(2).await;
        advance(11 * SECOND).await;
        for id in &ids[..2] {
            let result = client.response(id).await.unwrap();
            assert_eq!(result["isError"], true, "{result}");
        }
        shared.started(3).await;
        advance(9 * SECOND).await;
        shared.0.go_on.notify_waiters();
        let result = client.response(&ids[2]).await.unwrap();
        assert_eq!(result.get("isError"), None, "{result}");
    }
}

#[tokio::test]
async fn a_blocking_call_keeps_its_permit_until_its_thread_is_done() {
    let gate = Gate::default();
    let mut client = connect(server().state(gate.clone()), Version::V2026_07_28).await;
    let params = json!({"name": "one_thread"});
    let first = client.start("tools/call", params.clone()).await;
    in_time(gate.entered.acquire()).await.unwrap().forget();
    client.cancel(&first).await;
    let second = client.start("tools/call", params).await;
    client.pass().await;
    assert_eq!(gate.entered.available_permits(), 0);
    gate.open.add_permits(2);
    client.response(&second).await.unwrap();
    assert_eq!(gate.entered.available_permits(), 1);
}
