//! Where the results of `once` are kept: with the task, and in the server's store if a client could do the work again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryOnceStore, OnceClaim, OnceStore, OnceWork, StoreFuture};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;
use tokio::time::sleep;

use super::{Bench, MODERN, Sure, TASKS, accepted, client_of, count, create, settled, text};
use crate::support::raw;

/// Does three steps, the second of which takes longer than a client waits.
#[tool(tags("steps"), task)]
async fn three_steps(ctx: &Context) -> Result<()> {
    ctx.once("first", async || Ok(())).await?;
    ctx.once("second", async || {
        sleep(Duration::from_mins(1)).await;
        Ok(())
    })
    .await?;
    ctx.once("third", async || Ok(())).await
}

/// Asks in the call itself, becomes a task, and pays there after a minute.
#[tool(tags("steps"), task(manual))]
async fn ask_and_pay(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
    ctx.start_task().await;
    sleep(Duration::from_mins(1)).await;
    let paid = ctx.once("pay", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    Ok(format!("{sure} {}", paid.await?))
}

/// The server's store, which notes the names of the work that is claimed.
#[derive(Clone, Default)]
struct NotingStore {
    store: Arc<MemoryOnceStore>,
    claimed: Arc<Mutex<Vec<String>>>,
}

impl OnceStore for NotingStore {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        self.claimed.lock().unwrap().push(work.name.to_owned());
        self.store.begin(work)
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.store.complete(work, result)
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        self.store.abandon(work)
    }
}

fn server(bench: &Bench, store: &NotingStore) -> Server {
    let server = new_server!()
        .only(Selected::tag("steps"))
        .state(bench.clone());
    server.backend(Backend::new().once(Arc::new(store.clone())))
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_task_are_stored_only_with_the_task() {
    for version in Version::ERAS {
        let store = NotingStore::default();
        let mut client = client_of(server(&Bench::default(), &store), version).await;
        let task = create(&mut client, "three_steps", json!({})).await;
        sleep(Duration::from_mins(2)).await;
        assert_eq!(settled(&mut client, &task).await["status"], "completed");
        let claimed = store.claimed.lock().unwrap();
        assert!(claimed.is_empty(), "{version:?}: {claimed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_job_are_in_the_once_store_while_its_request_waits() {
    for version in Version::ERAS {
        let store = NotingStore::default();
        let mut client = raw(server(&Bench::default(), &store), version);
        // Requests progress, because the client of these tests does not wait long without any.
        client.meta.insert("progressToken".into(), json!("p"));
        let mut client = client.connect().await;
        let handle = client.tool("three_steps", json!({})).await;
        assert!(text(&handle).contains("job `"), "{handle}");
        sleep(Duration::from_mins(2)).await;
        // A legacy client never receives a state.
        let expected: &[&str] = if version.is_modern() {
            &["first", "second"]
        } else {
            &[]
        };
        assert_eq!(*store.claimed.lock().unwrap(), expected, "{version:?}");
    }
}

// Covers: MRTR-06
#[tokio::test(start_paused = true)]
async fn a_round_that_is_sent_twice_becomes_two_tasks_that_do_the_work_once() {
    for is_job in [false, true] {
        let (bench, store) = (Bench::default(), NotingStore::default());
        let mut client = raw(server(&bench, &store), MODERN);
        client.capabilities = if is_job {
            json!({"elicitation": {}})
        } else {
            json!({"elicitation": {}, "extensions": {TASKS: {}}})
        };
        client.meta.insert("progressToken".into(), json!("p"));
        let mut client = client.connect().await;
        let call = json!({"name": "ask_and_pay", "arguments": {}});
        let mut round = client.ok("tools/call", call).await;
        let again = json!({
            "name": "ask_and_pay",
            "arguments": {},
            "requestState": round["requestState"].take(),
            "inputResponses": {"sure": accepted(true)},
        });
        for _ in 0..2 {
            let answered = client.ok("tools/call", again.clone()).await;
            sleep(Duration::from_mins(2)).await;
            let result = if is_job {
                let (_, rest) = text(&answered).split_once("job `").unwrap();
                let (id, _) = rest.split_once('`').unwrap();
                client.tool("job_status", json!({"job_id": id})).await
            } else {
                let mut task = settled(&mut client, &answered).await;
                task["result"].take()
            };
            assert_eq!(text(&result), "true 0", "{result}");
        }
        assert_eq!(count(&bench.once), 1);
        assert_eq!(*store.claimed.lock().unwrap(), ["pay", "pay"]);
    }
}
