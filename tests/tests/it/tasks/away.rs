//! Steps of tasks in a store that is away when a step begins or ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::backend::{Backend, TaskId, TaskStore as _};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tokio::time::{Instant, sleep};

use super::test_store::{Away, Fault, TestStore};
use super::{Bench, client_of, count, create, settled, text};

/// Pays in a step.
#[tool(tags("away"), task(ttl = "1h"))]
async fn pay(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let pay = ctx.once("pay", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    Ok(format!("payment {}", pay.await?))
}

/// Pays in a step that may be repeated.
#[tool(tags("away"), task(ttl = "1h"))]
async fn pay_again(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let pay = ctx.step("pay", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    Ok(format!("payment {}", pay.await?))
}

/// Fails in a step, and then in a second run succeeds.
#[tool(tags("away"), task(ttl = "1h"))]
async fn fail_to_pay(ctx: &Context) -> Result<String> {
    ctx.once("pay", async || -> Result<String> { bail!("no money") })
        .await
}

fn server(bench: &Bench, store: &TestStore, lease: Duration) -> Server {
    let limits = Limits::default().with(|limits| limits.tasks.lease = lease);
    let server = new_server!()
        .only(Selected::tag("away"))
        .state(bench.clone());
    server
        .backend(Backend::new().tasks(Arc::new(store.clone())))
        .limits(limits)
}

fn go_away(store: &TestStore, operation: &'static str, fault: Fault, time: Duration) {
    let until = Instant::now() + time;
    *store.away.lock().unwrap() = Some(Away {
        operation,
        fault,
        until,
    });
}

const LEASE: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_task_completes_if_a_store_outage_is_shorter_than_its_lease() {
    for version in Version::ERAS {
        for outlives in [false, true] {
            for fault in Fault::ALL {
                for (tool, operation, expected) in [
                    ("pay", "begin", "payment 0"),
                    ("pay", "complete", "payment 0"),
                    ("pay_again", "begin", "payment 0"),
                    ("pay_again", "complete", "payment 0"),
                    ("fail_to_pay", "abandon", "no money"),
                ] {
                    let bench = Bench::default();
                    let store = TestStore {
                        outlives,
                        ..TestStore::default()
                    };
                    let mut client = client_of(server(&bench, &store, LEASE), version).await;
                    go_away(&store, operation, fault, Duration::from_secs(20));
                    let task = create(&mut client, tool, json!({})).await;
                    sleep(Duration::from_mins(1)).await;
                    let ended = settled(&mut client, &task).await;
                    let place = format!("{tool} {operation} {fault:?} {version:?}: {ended}");
                    if version.is_modern() {
                        assert_eq!(ended["status"], "completed", "{place}");
                        assert_eq!(text(&ended["result"]), expected, "{place}");
                    } else {
                        let is_failed = ended["status"] == "failed";
                        assert_eq!(is_failed, tool == "fail_to_pay", "{place}");
                    }
                    let effects = usize::from(tool != "fail_to_pay");
                    assert_eq!(count(&bench.once), effects, "{place}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_result_cannot_be_stored_fails_with_an_unknown_outcome() {
    for fault in Fault::ALL {
        let (bench, store) = (Bench::default(), TestStore::default());
        let server = server(&bench, &store, Duration::from_mins(10));
        let mut client = client_of(server, Version::V2026_07_28).await;
        go_away(&store, "complete", fault, Duration::from_mins(5));
        let task = create(&mut client, "pay", json!({})).await;
        sleep(Duration::from_mins(2)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["result"]["isError"], true, "{ended}");
        let text = text(&ended["result"]);
        assert!(text.contains("`pay`"), "{text}");
        assert!(text.contains("its outcome is unknown"), "{text}");
        assert_eq!(count(&bench.once), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_cannot_be_claimed_fails_with_its_name_and_does_not_run() {
    for fault in Fault::ALL {
        let (bench, store) = (Bench::default(), TestStore::default());
        let server = server(&bench, &store, Duration::from_mins(10));
        let mut client = client_of(server, Version::V2026_07_28).await;
        go_away(&store, "begin", fault, Duration::from_mins(5));
        let task = create(&mut client, "pay_again", json!({})).await;
        sleep(Duration::from_mins(2)).await;
        let ended = settled(&mut client, &task).await;
        let text = text(&ended["result"]);
        assert!(
            text.contains("`pay` in this call cannot be started"),
            "{text}"
        );
        assert_eq!(count(&bench.once), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_has_lost_its_lease_stops_trying_to_write() {
    let (bench, store) = (Bench::default(), TestStore::default());
    let server = server(&bench, &store, Duration::from_mins(10));
    let mut client = client_of(server, Version::V2026_07_28).await;
    go_away(&store, "complete", Fault::Fails, Duration::from_secs(30));
    let task = create(&mut client, "pay", json!({})).await;
    tests::wait::until(async || count(&bench.once) == 1).await;
    // Another process takes the task over while the store is away for this one.
    let id = TaskId::parse(task["taskId"].as_str().unwrap()).unwrap();
    store.store.release(&id, 1, Duration::ZERO).await.unwrap();
    let claimed = store.store.claim(&id, Duration::from_mins(10)).await;
    assert_eq!(claimed.unwrap().unwrap().attempt, 2);
    sleep(Duration::from_mins(2)).await;
    client.pass().await;
    let details = store.store.inspect(&id).await.unwrap().unwrap();
    let steps: Vec<_> = details
        .steps
        .iter()
        .map(|step| (&*step.name, step.is_done))
        .collect();
    assert_eq!(
        steps,
        [("pay", false)],
        "the second attempt decides what becomes of the step"
    );
}
