//! Leases: a process holds those of the tasks that it runs, and of no others.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::backend::{NewTask, StoredTask, TaskStatus, TaskStore as _};
use mcp_runtime::prelude::*;
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tests::wait::until;

use super::other_process::{Process, load, shared_store};
use super::test_store::TestStore;
use super::{Bench, count, create, settled};

/// Blocks its thread until the test lets it finish.
#[tool(tags("tasks"), task)]
async fn grind(bench: State<Bench>) -> Result<()> {
    bench.started.fetch_add(1, Ordering::SeqCst);
    // No longer than the test waits.
    for _ in 0..5_000 {
        if let Ok(permit) = bench.go_on.try_acquire() {
            permit.forget();
            return Ok(());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    bail!("it was forgotten")
}

/// Takes half a second.
#[tool(tags("tasks"), task)]
async fn nap(bench: State<Bench>) -> Result<()> {
    bench.started.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok(())
}

/// Does two steps, between which it waits until the test lets it go on.
#[tool(tags("tasks"), task)]
async fn two_steps(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let first = ctx.once("first", async || Ok(1)).await?;
    bench.started.fetch_add(1, Ordering::SeqCst);
    bench.go_on.acquire().await.expose()?.forget();
    let second = ctx.once("second", async || Ok(2)).await?;
    Ok(format!("{first} {second}"))
}

fn limited(lease: Duration, max_running: usize) -> impl FnOnce(Server) -> Server {
    let limits = Limits::default().with(|limits| {
        (limits.tasks.lease, limits.tasks.max_running) = (lease, max_running);
    });
    move |server| server.limits(limits)
}

async fn all(store: &TestStore, owner: &str) -> Vec<StoredTask> {
    let page = store.list(owner, None, 100).await.unwrap().unwrap();
    page.tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_whose_handler_blocks_its_thread_keeps_its_lease() {
    for version in Version::ERAS {
        let store = shared_store();
        let lease = Duration::from_millis(300);
        let mut one = Process::start_with(&store, version, limited(lease, 2)).await;
        // The second time, the keeper of leases has had nothing to do for a while, and is no longer waiting for a lease.
        for time in 1..=2 {
            let task = create(&mut one.client, "grind", json!({})).await;
            until(async || count(&one.bench.started) == time).await;
            let renewed = count(&store.renewals);
            // Two leases long.
            until(async || count(&store.renewals) >= renewed + 7).await;
            one.bench.go_on.add_permits(1);
            let ended = settled(&mut one.client, &task).await;
            assert_eq!(ended["status"], "completed", "{ended}");
            assert_eq!(count(&one.bench.started), time);
            let stored = all(&store, "trusted").await;
            assert!(stored.iter().all(|task| task.attempt == 1), "{stored:?}");
            tokio::time::sleep(lease).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_paused_loses_no_step_if_it_is_the_only_one() {
    for version in Version::ERAS {
        let store = shared_store();
        let mut one = Process::start(&store, version).await;
        let task = create(&mut one.client, "two_steps", json!({})).await;
        until(async || count(&one.bench.started) == 1).await;
        // The clock jumps by ten leases, as it does for a process that was stopped.
        tokio::time::advance(Duration::from_mins(5)).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        one.bench.go_on.add_permits(1);
        let ended = settled(&mut one.client, &task).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(
            (count(&one.bench.started), load(&store).await.attempt),
            (1, 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_paused_starts_no_step_once_another_has_claimed_its_task() {
    for version in Version::ERAS {
        let store = shared_store();
        let mut one = Process::start(&store, version).await;
        create(&mut one.client, "two_steps", json!({})).await;
        until(async || count(&one.bench.started) == 1).await;
        tokio::time::advance(Duration::from_mins(5)).await;
        let id = load(&store).await.id;
        let claimed = store.store.claim(&id, Duration::from_mins(5));
        let claimed = claimed.await.unwrap().unwrap();
        one.bench.go_on.add_permits(1);
        tokio::time::sleep(Duration::from_mins(1)).await;
        let details = store.inspect(&claimed.id).await.unwrap().unwrap();
        let steps: Vec<_> = details.steps.iter().map(|step| &*step.name).collect();
        assert_eq!(steps, ["first"]);
        assert_eq!(
            (details.task.status, details.task.attempt),
            (TaskStatus::Working, 2)
        );
    }
}

// Limits: tasks.max_running
#[tokio::test(start_paused = true)]
async fn tasks_created_at_one_process_run_on_all() {
    for version in Version::ERAS {
        let store = shared_store();
        let limited = || limited(Duration::from_secs(30), 2);
        let mut one = Process::start_with(&store, version, limited()).await;
        let other = Process::start_with(&store, version, limited()).await;
        let started = tokio::time::Instant::now();
        for _ in 0..40 {
            create(&mut one.client, "nap", json!({})).await;
        }
        let ended = |task: &StoredTask| task.status == TaskStatus::Completed;
        until(async || all(&store, "trusted").await.iter().all(ended)).await;
        let (here, there) = (count(&one.bench.started), count(&other.bench.started));
        assert_eq!(here + there, 40);
        assert!(there >= 8, "the other process ran {there} tasks");
        assert!(
            started.elapsed() < Duration::from_secs(9),
            "{:?}",
            started.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_concurrency_holds_no_lease() {
    for version in Version::ERAS {
        let store = shared_store();
        let mut one = Process::start(&store, version).await;
        for _ in 0..3 {
            create(&mut one.client, "narrow_job", json!({})).await;
        }
        until(async || count(&one.bench.started) == 1).await;
        let quick = create(&mut one.client, "end", json!({"how": "well"})).await;
        let due = async || {
            let mut due = 0;
            for task in all(&store, "trusted").await {
                let details = store.inspect(&task.id).await.unwrap().unwrap();
                due += usize::from(details.due_in == Some(Duration::ZERO));
            }
            due
        };
        until(async || due().await == 2).await;
        let ended = settled(&mut one.client, &quick).await;
        assert_eq!(ended["status"], "completed", "{ended}");

        let other = Process::start(&store, version).await;
        until(async || count(&other.bench.started) == 1).await;
        assert_eq!(due().await, 1);
        one.bench.go_on.add_permits(1);
        until(async || count(&one.bench.started) == 2).await;
        one.bench.go_on.add_permits(1);
        other.bench.go_on.add_permits(1);
        let ended = |task: &StoredTask| task.status == TaskStatus::Completed;
        until(async || all(&store, "trusted").await.iter().all(ended)).await;
        // An attempt that was given back does not count.
        assert!(
            all(&store, "trusted")
                .await
                .iter()
                .all(|task| task.tries == 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn callers_take_turns_after_a_restart_too() {
    let store = shared_store();
    for owner in std::iter::repeat_n("mallory", 50).chain(["bob"]) {
        let mut task = NewTask::new(owner, "end");
        task.call = json!({
            "format": 1, "tool": "end", "arguments": {"how": "well"}, "protocol_version": "2025-11-25",
            "caller": "trusted", "capabilities": {},
        })
        .to_string()
        .into();
        task.state = json!({"journal": "{\"r\":0}"}).to_string().into();
        let id = task.id.clone();
        store.create(task).await.unwrap();
        store.release(&id, 1, Duration::ZERO).await.unwrap();
    }
    let limited = limited(Duration::from_secs(30), 1);
    let _process = Process::start_with(&store, Version::V2026_07_28, limited).await;
    let ended = |task: &StoredTask| task.status == TaskStatus::Completed;
    until(async || all(&store, "mallory").await.iter().all(ended)).await;
    let bob = all(&store, "bob").await.remove(0);
    let before = all(&store, "mallory").await.into_iter();
    let before = before
        .filter(|task| task.updated_at < bob.updated_at)
        .count();
    assert!(before <= 2, "{before} tasks ran before the other caller's");
}

#[tokio::test(start_paused = true)]
async fn a_task_can_wait_for_a_slot_without_limit_and_be_cancelled() {
    for version in Version::ERAS {
        let store = shared_store();
        let limited = limited(Duration::from_secs(30), 1);
        let mut one = Process::start_with(&store, version, limited).await;
        let first = create(&mut one.client, "job", json!({})).await;
        until(async || count(&one.bench.started) == 1).await;
        let second = create(&mut one.client, "job", json!({})).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!(count(&one.bench.started), 1);
        // It can be cancelled while it waits.
        let third = create(&mut one.client, "job", json!({})).await;
        let params = json!({"taskId": third["taskId"]});
        one.client.ok("tasks/cancel", params).await;
        one.bench.go_on.add_permits(2);
        for task in [&first, &second] {
            assert_eq!(settled(&mut one.client, task).await["status"], "completed");
        }
        assert_eq!(count(&one.bench.started), 2);
    }
}
