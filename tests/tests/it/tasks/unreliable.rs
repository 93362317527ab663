//! Tasks in a store that sometimes fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::backend::Backend;
use serde_json::{Value, json};
use tests::Version;
use tests::wait::until;

use super::test_store::TestStore;
use super::{Bench, accepted, answer, client_of, count, create, get, server, settled, text};

#[tokio::test(start_paused = true)]
async fn a_result_is_stored_after_a_short_store_outage() {
    for version in Version::ERAS {
        let store = TestStore::default();
        let failing = Arc::clone(&store.failing);
        let server = server(&Bench::default()).backend(Backend::new().tasks(Arc::new(store)));
        let mut client = client_of(server, version).await;
        failing.store(5, Ordering::SeqCst);
        let task = create(&mut client, "end", json!({"how": "well"})).await;
        until(async || count(&failing) == 0).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        if version.is_modern() {
            assert_eq!(text(&ended["result"]), "well");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_lease_expires_fails() {
    for version in Version::ERAS {
        let (store, bench) = (TestStore::default(), Bench::default());
        let without_leases = Arc::clone(&store.without_leases);
        let mut client = client_of(
            server(&bench).backend(Backend::new().tasks(Arc::new(store))),
            version,
        )
        .await;
        let task = create(&mut client, "job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        without_leases.store(true, Ordering::SeqCst);
        // The server keeps asking, which a clock that jumps once would not let it do.
        let stops = tokio::time::Instant::now();
        until(async || stops.elapsed() > Duration::from_mins(2)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        let message = ended["statusMessage"].as_str().unwrap();
        assert!(message.contains("was unreachable"), "{message}");
        assert_eq!(count(&bench.dropped), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answered_task_goes_on_once_the_store_works_again() {
    let (store, bench) = (TestStore::default(), Bench::default());
    let without_leases = Arc::clone(&store.without_leases);
    let mut client = client_of(
        server(&bench).backend(Backend::new().tasks(Arc::new(store))),
        Version::V2026_07_28,
    )
    .await;
    let task = create(&mut client, "deploy", json!({})).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    without_leases.store(true, Ordering::SeqCst);
    answer(&mut client, &task, json!({"sure": accepted(true)})).await;
    client.pass().await;
    assert_eq!(get(&mut client, &task).await["status"], "working");
    assert_eq!(count(&bench.runs), 1);
    without_leases.store(false, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    assert_eq!(count(&bench.runs), 2);
}

/// Starts a task, waits for its result while the store is down for this time, and lets it finish afterward.
async fn waited_result(down: Duration) -> Result<Value, tests::client::Failure> {
    let (store, bench) = (TestStore::default(), Bench::default());
    let is_down = Arc::clone(&store.is_down);
    // Its lease is not the subject.
    let limits = mcp_runtime::Limits::default().with(|limits| {
        (limits.tasks.lease, limits.tasks.ttl) = (Duration::from_hours(1), Duration::from_hours(2));
    });
    let server = server(&bench)
        .backend(Backend::new().tasks(Arc::new(store)))
        .limits(limits);
    let mut client = client_of(server, Version::V2025_11_25).await;
    let task = create(&mut client, "fetch_quietly", json!({})).await;
    until(async || count(&bench.started) == 1).await;
    let params = json!({"taskId": task["taskId"]});
    let id = client.start("tasks/result", params).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    is_down.store(true, Ordering::SeqCst);
    tokio::time::sleep(down).await;
    is_down.store(false, Ordering::SeqCst);
    bench.go_on.add_permits(1);
    client.response(&id).await
}

#[tokio::test(start_paused = true)]
async fn a_store_failure_is_not_returned_as_the_result_of_a_task() {
    for seconds in [1, 10, 60] {
        let result = waited_result(Duration::from_secs(seconds)).await;
        assert_eq!(
            text(&result.expect("the outage is waited through")),
            "fetched"
        );
    }
    let refused = waited_result(Duration::from_mins(10)).await.unwrap_err();
    assert_eq!(
        (refused.code, &refused.data["retryAfterMs"]),
        (429, &json!(1000))
    );
    assert!(
        refused.message.contains("nothing is known about the task"),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn other_task_requests_wait_briefly_and_then_fail_with_a_retry_hint() {
    for version in Version::ERAS {
        let (store, bench) = (TestStore::default(), Bench::default());
        let is_down = Arc::clone(&store.is_down);
        let mut client = client_of(
            server(&bench).backend(Backend::new().tasks(Arc::new(store))),
            version,
        )
        .await;
        let task = create(&mut client, "job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        for (down, works) in [(2, true), (8, false)] {
            is_down.store(true, Ordering::SeqCst);
            let up = Arc::clone(&is_down);
            let outage = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(down)).await;
                up.store(false, Ordering::SeqCst);
            });
            let params = json!({"taskId": task["taskId"]});
            let found = client.request("tasks/get", params).await;
            match found {
                Ok(found) => assert!(works, "{found}"),
                Err(refused) => assert!(!works && refused.code == 429, "{refused:?}"),
            }
            outage.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_result_of_a_task_that_expires_is_an_error_with_reason() {
    let bench = Bench::default();
    let limits = mcp_runtime::Limits::default().with(|limits| {
        limits.tasks.ttl = Duration::from_secs(10);
    });
    let server = server(&bench).limits(limits);
    let mut client = client_of(server, Version::V2025_11_25).await;
    let task = create(&mut client, "fetch_quietly", json!({})).await;
    let params = json!({"taskId": task["taskId"]});
    let refused = client.fails("tasks/result", params, -32602).await;
    assert!(
        refused.message.contains("its time to live has elapsed"),
        "{refused:?}"
    );
}
