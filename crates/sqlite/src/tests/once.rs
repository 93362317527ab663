//! Results of `once` in calls that are not tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Server;
use mcp_runtime::backend::Backend;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use mcp_stores::{check_once_limits, few_once_entries};
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Semaphore;

use super::{Folder, used};
use crate::{Sqlite, SqliteOptions};

#[tokio::test]
async fn each_caller_has_a_share_of_the_entries_and_bytes() {
    let folder = Folder::new();
    let options = SqliteOptions::new().limits(few_once_entries());
    check_once_limits(&options.open(folder.file()).unwrap()).await;
}

/// Makes a payment and returns the number of payments so far.
#[tool(tags("once"))]
async fn pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let pay = ctx.once("pay", async || Ok(paid.fetch_add(1, Ordering::Relaxed) + 1));
    pay.await
}

#[derive(Elicit)]
struct Sure {
    sure: bool,
}

/// Makes a payment after a question.
#[tool(tags("once"))]
async fn ask_and_pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let Sure { sure: true } = ctx.elicit("Sure?").await? else {
        bail!("not sure");
    };
    pay(ctx, paid).await
}

fn server(store: &Sqlite) -> Server {
    let server = new_server!()
        .only(Selected::tag("once"))
        .state(AtomicUsize::new(0));
    server.backend(Backend::new().once(Arc::new(store.clone())))
}

async fn kept(store: &Sqlite) -> Vec<String> {
    let kept = store.0.writer.read(|db| {
        let mut select = db.prepare("SELECT name || result FROM once")?;
        let rows = select.query_map([], |row| row.get(0))?;
        rows.collect::<Result<_, _>>()
    });
    kept.await.unwrap()
}

#[tokio::test]
async fn the_steps_of_a_call_are_kept_only_if_its_client_can_continue_it() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let client = TestClient::modern(server(&store)).await;
    let paid = client.call("pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "1");
    let forgotten = async {
        while !kept(&store).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let forgotten = tokio::time::timeout(Duration::from_mins(1), forgotten).await;
    forgotten.expect("the steps of a call without questions are forgotten at its end");
    client.answer(Sure { sure: true });
    let paid = client.call("ask_and_pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "2");
    assert_eq!(kept(&store).await, ["pay2"]);
    // A name of three bytes and a result of one byte.
    let used = used(&store).await;
    assert_eq!(used, ["all 0 0", "step 1 4", "step of trusted 1 4"]);
    let removed = store
        .0
        .writer
        .write(|db| db.execute("DELETE FROM once", []));
    assert_eq!(removed.await.unwrap(), 1);
    assert_eq!(super::used(&store).await, ["all 0 0", "step 0 0"]);
}

/// Pays in a task.
#[tool(task, tags("locked"))]
async fn pay_in_task(ctx: &Context, bench: State<Bench>) -> Result<usize> {
    bench.reached.add_permits(1);
    bench.before.acquire().await.expose()?.forget();
    let step = ctx.once("pay", async || {
        bench.reached.add_permits(1);
        bench.inside.acquire().await.expose()?.forget();
        Ok(bench.paid.fetch_add(1, Ordering::SeqCst) + 1)
    });
    step.await
}

/// Pays in a call with a key.
#[tool(idempotent_by = "order", tags("locked"))]
async fn pay_order(bench: State<Bench>, order: u32) -> Result<String> {
    bench.reached.add_permits(1);
    bench.inside.acquire().await.expose()?.forget();
    let paid = bench.paid.fetch_add(1, Ordering::SeqCst) + 1;
    Ok(format!("{order} {paid}"))
}

/// Counts payments, and lets a test decide when they go on.
#[derive(Clone)]
struct Bench(Arc<BenchState>);

struct BenchState {
    paid: AtomicUsize,
    /// Has a permit for each point at which a tool waits for the test.
    reached: Semaphore,
    before: Semaphore,
    inside: Semaphore,
}

impl std::ops::Deref for Bench {
    type Target = BenchState;

    fn deref(&self) -> &BenchState {
        &self.0
    }
}

impl Bench {
    fn new() -> Self {
        let closed = || Semaphore::new(0);
        Self(Arc::new(BenchState {
            paid: AtomicUsize::new(0),
            reached: closed(),
            before: closed(),
            inside: closed(),
        }))
    }

    async fn reach(&self) {
        let reached = tokio::time::timeout(Duration::from_mins(1), self.reached.acquire());
        reached.await.expect("the tool goes on").unwrap().forget();
    }
}

/// Locks the file, and gives it back after several operations have failed.
fn lock_for_a_while(folder: &Folder) -> std::thread::JoinHandle<()> {
    let locking = Connection::open(folder.file()).unwrap();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        locking.execute_batch("ROLLBACK").unwrap();
    })
}

fn impatient(folder: &Folder) -> Sqlite {
    let options = SqliteOptions::new().busy_timeout(Duration::from_millis(10));
    options.open(folder.file()).unwrap()
}

#[tokio::test]
async fn a_task_completes_although_the_file_is_locked_when_its_step_begins_and_ends() {
    let (folder, bench) = (Folder::new(), Bench::new());
    let server = new_server!()
        .only(Selected::tag("locked"))
        .state(bench.clone())
        .backend(impatient(&folder));
    let client = TestClient::modern(server).await;
    let task = client.start_task("pay_in_task", json!({})).await.unwrap();
    for go_on in [&bench.before, &bench.inside] {
        bench.reach().await;
        let locked = lock_for_a_while(&folder);
        go_on.add_permits(1);
        let unlocked = tokio::task::spawn_blocking(|| locked.join().unwrap());
        unlocked.await.unwrap();
    }
    let paid = task.result().await.unwrap();
    assert_eq!(paid.text(), "1");
    assert_eq!(bench.paid.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_repeat_gets_the_result_of_a_call_that_ended_while_the_file_was_locked() {
    let (folder, bench) = (Folder::new(), Bench::new());
    let server = new_server!()
        .only(Selected::tag("locked"))
        .state(bench.clone())
        .backend(impatient(&folder));
    let client = TestClient::modern(server).await;
    let call = || client.call("pay_order", json!({"order": 7}));
    let mut locked = None;
    let test = async {
        bench.reach().await;
        locked = Some(lock_for_a_while(&folder));
        bench.inside.add_permits(1);
    };
    let (paid, ()) = tokio::join!(async { call().await.unwrap() }, test);
    assert_eq!(paid.text(), "7 1");
    locked.unwrap().join().unwrap();
    assert_eq!(call().await.unwrap().text(), "7 1");
    assert_eq!(bench.paid.load(Ordering::SeqCst), 1);
}
