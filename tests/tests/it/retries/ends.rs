//! Repeats of calls that are still running, have failed, or were stopped.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tests::wait::{for_seconds_of_the_system, until};

use super::{Shop, WAIT, call, client, hasty_client, server, text};
use crate::support::connect;

#[tokio::test]
async fn a_repeat_waits_for_the_first_call_and_gets_its_result() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(client.start("tools/call", call("place_slowly", 7)).await);
        }
        until(async || shop.orders() == 1).await;
        shop.let_one_go_on();
        for id in ids {
            let result = client.response(&id).await.unwrap();
            assert_eq!(text(&result), "order 7 is number 1");
        }
        assert_eq!(shop.orders(), 1);
    }
}

// Limits: idempotency.max_wait
#[tokio::test(start_paused = true)]
async fn a_repeat_does_not_wait_for_ever() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = hasty_client(&shop, version).await;
        let first = client.start("tools/call", call("place_slowly", 7)).await;
        until(async || shop.orders() == 1).await;
        let before = tokio::time::Instant::now();
        let refused = client.refused("place_slowly", json!({"order_id": 7})).await;
        assert!(refused.contains("has not ended"), "{refused}");
        let waited = before.elapsed();
        assert!(
            (WAIT..WAIT + Duration::from_secs(1)).contains(&waited),
            "{waited:?}"
        );
        shop.let_one_go_on();
        let result = client.response(&first).await.unwrap();
        assert_eq!(
            client.tool("place_slowly", json!({"order_id": 7})).await,
            result
        );
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn a_repeat_that_is_cancelled_ends_only_its_waiting() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let first = client.start("tools/call", call("place_slowly", 7)).await;
        until(async || shop.orders() == 1).await;
        let repeat = client.start("tools/call", call("place_slowly", 7)).await;
        client.pass().await;
        client.cancel(&repeat).await;
        shop.let_one_go_on();
        let result = client.response(&first).await.unwrap();
        assert_eq!(text(&result), "order 7 is number 1");
        assert_eq!(
            client.tool("place_slowly", json!({"order_id": 7})).await,
            result
        );
    }
}

#[tokio::test]
async fn a_repeat_of_a_cancelled_call_is_an_unknown_outcome_error() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let first = client.start("tools/call", call("place_slowly", 7)).await;
        until(async || shop.orders() == 1).await;
        let repeat = client.start("tools/call", call("place_slowly", 7)).await;
        client.cancel(&first).await;
        let result = client.response(&repeat).await.unwrap();
        assert_eq!(result["isError"], true, "{result}");
        let stopped = text(&result);
        assert!(
            stopped.contains("was stopped before it ended, so its outcome is unknown"),
            "{stopped}"
        );
        let again = client.refused("place_slowly", json!({"order_id": 7})).await;
        assert_eq!(again, stopped);
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_of_a_call_that_took_too_long_or_panicked_does_not_run() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let limits = Limits::default().with(|all| all.calls.timeout = Duration::from_secs(1));
        let mut client = connect(server(&shop).limits(limits), version).await;
        let refused = client.refused("place_slowly", json!({"order_id": 7})).await;
        assert!(refused.contains("took longer"), "{refused}");
        client
            .fails("tools/call", call("place_and_panic", 7), -32603)
            .await;
        for tool in ["place_slowly", "place_and_panic"] {
            let refused = client.refused(tool, json!({"order_id": 7})).await;
            assert!(refused.contains("was stopped before it ended"), "{refused}");
        }
        assert_eq!(shop.orders(), 2);
    }
}

#[tokio::test]
async fn a_call_that_has_failed_can_be_repeated_with_other_arguments_too() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        shop.set_broken(true);
        for _ in 0..3 {
            let refused = client
                .refused("place_if_open", json!({"order_id": 7}))
                .await;
            assert_eq!(refused, "the shop is closed");
        }
        shop.set_broken(false);
        for _ in 0..2 {
            let placed = client.text("place_if_open", json!({"order_id": 7})).await;
            assert_eq!(placed, "order 7 is number 4");
        }
        // So can one whose arguments were refused.
        let wrong = json!({"order_id": 7, "amount": "much"});
        client.refused("place", wrong).await;
        client.text("place", json!({"order_id": 7})).await;
    }
}

// Limits: idempotency.max_result_bytes
#[tokio::test]
async fn a_repeat_of_a_call_with_a_large_result_only_reports_success() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let limits = Limits::default().with(|all| all.idempotency.max_result_bytes = 60);
        let mut client = connect(server(&shop).limits(limits), version).await;
        client.text("place", json!({"order_id": 7})).await;
        let refused = client.refused("place", json!({"order_id": 7})).await;
        assert!(
            refused.contains("has succeeded, so nothing was done; its result was too large"),
            "{refused}"
        );
        assert_eq!(shop.orders(), 1);
    }
}

// Limits: idempotency.window
#[tokio::test]
async fn a_key_is_free_again_after_its_window() {
    let shop = Shop::new();
    let limits = Limits::default().with(|all| all.idempotency.window = Duration::from_secs(1));
    let mut client = connect(server(&shop).limits(limits), Version::V2026_07_28).await;
    client.text("place", json!({"order_id": 7})).await;
    for_seconds_of_the_system(2).await;
    let placed = client
        .text("place", json!({"order_id": 7, "amount": 2}))
        .await;
    assert_eq!(placed, "order 7 of 2 is number 2");
}

// Without a wait, the repeat has one look at the key, which finds the forgotten call.
#[tokio::test]
async fn a_key_is_free_again_after_its_window_for_a_call_that_cannot_wait() {
    let shop = Shop::new();
    let limits = Limits::default().with(|all| {
        all.idempotency.window = Duration::from_secs(1);
        all.idempotency.max_wait = Duration::ZERO;
    });
    for version in Version::ERAS {
        let mut client = connect(server(&shop).limits(limits.clone()), version).await;
        let placed = client.text("place", json!({"order_id": 7})).await;
        for_seconds_of_the_system(2).await;
        let again = client.text("place", json!({"order_id": 7})).await;
        assert_ne!(again, placed);
    }
}
