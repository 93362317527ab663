//! Calls that continue after their request, for clients of both protocols that support tasks.

mod access;
mod away;
mod creation;
mod ends;
mod heartbeat;
mod http;
mod leases;
mod legacy;
mod limits;
mod metrics;
mod modern;
mod other_process;
mod patience;
mod questions;
mod sealed;
mod steps;
mod stopping;
mod test_client;
mod test_store;
mod unreliable;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::ErrorObject;
use serde_json::{Value, json};
use tests::{Client, Version};
use tokio::sync::Semaphore;

use crate::support::raw;

const TASKS: &str = "io.modelcontextprotocol/tasks";
const LEGACY: Version = Version::V2025_11_25;
const MODERN: Version = Version::V2026_07_28;

/// State that the handlers under test share with the test.
#[derive(Clone)]
struct Bench {
    /// One permit for each job that is allowed to finish.
    go_on: Arc<Semaphore>,
    started: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    /// Number of times that the work inside `once` ran.
    once: Arc<AtomicUsize>,
    /// Number of runs of the handler that asks questions.
    runs: Arc<AtomicUsize>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            go_on: Arc::new(Semaphore::new(0)),
            started: Arc::default(),
            dropped: Arc::default(),
            once: Arc::default(),
            runs: Arc::default(),
        }
    }
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

/// Counts a run whose future was dropped before it finished.
struct Dropped(Option<Arc<AtomicUsize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Reports progress, and works until the test lets it finish.
#[tool(tags("tasks"), task(ttl = "10m", poll = "3s"))]
async fn job(ctx: &Context, bench: State<Bench>, label: Option<String>) -> Result<String> {
    let mut guard = Dropped(Some(Arc::clone(&bench.dropped)));
    bench.started.fetch_add(1, Ordering::SeqCst);
    ctx.info("started");
    ctx.progress((1, 3, "sorting"));
    bench.go_on.acquire().await.expose()?.forget();
    guard.0 = None;
    Ok(format!("done {}", label.unwrap_or_default()))
}

/// Works until it may finish or is cancelled, and has a helper that counts cancellations.
#[tool(tags("tasks"), task)]
async fn job_with_helper(ctx: Context, bench: State<Bench>) -> Result<()> {
    let dropped = Arc::clone(&bench.dropped);
    let context = ctx.clone();
    tokio::spawn(async move {
        context.cancelled().await;
        dropped.fetch_add(1, Ordering::SeqCst);
    });
    bench.started.fetch_add(1, Ordering::SeqCst);
    bench.go_on.acquire().await.expose()?.forget();
    Ok(())
}

/// A job that can only be a task.
#[tool(tags("tasks"), task = required)]
async fn strict_job() -> &'static str {
    "done"
}

/// Ends in one of several ways.
#[tool(tags("tasks"), task)]
async fn end(how: String) -> Result<String> {
    match how.as_str() {
        "error" => bail!("it went wrong"),
        "protocol" => Err(HandlerError::protocol(ErrorObject::invalid_params("no"))),
        "panic" => panic!("it panicked"),
        how => Ok(how.to_owned()),
    }
}

/// The user's decision to go on.
#[derive(Elicit)]
struct Sure {
    /// Really?
    sure: bool,
}

/// Plans, asks, and deploys.
#[tool(tags("tasks"), task)]
async fn deploy(ctx: &Context, bench: State<Bench>) -> Result<String> {
    bench.runs.fetch_add(1, Ordering::SeqCst);
    let plan = ctx.once("plan", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    let plan = plan.await?;
    let answer: Sure = ctx
        .elicit(format!("Deploy plan {plan}?"))
        .key("sure")
        .await?;
    let again: Sure = ctx.elicit("Really sure?").await?;
    let call = ctx.call_id();
    Ok(format!("{} {} {plan} {call}", answer.sure, again.sure))
}

/// Asks two questions at once.
#[tool(tags("tasks"), task)]
async fn ask_both(ctx: &Context) -> Result<String> {
    let (one, other) = ctx
        .ask((
            ctx.elicit::<Sure>("One?").key("one"),
            ctx.elicit::<Sure>("Other?").key("other"),
        ))
        .await?;
    Ok(format!("{} {}", one.sure, other.sure))
}

/// Asks in the call itself, and then becomes a task.
#[tool(tags("tasks"), task(manual))]
async fn ask_first(ctx: &Context, bench: State<Bench>, at_once: Option<bool>) -> Result<String> {
    if at_once == Some(true) {
        return Ok("at once".into());
    }
    let once = ctx.once("before", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    let before = once.await?;
    let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
    ctx.start_task().await;
    Ok(format!("{sure} {before}"))
}

/// Pays, becomes a task, and asks there.
#[tool(tags("tasks"), task(manual))]
async fn pay_first(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let once = ctx.once("pay", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    let receipt = once.await?;
    ctx.start_task().await;
    let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
    Ok(format!("{sure} {receipt}"))
}

/// Becomes a task while it pays.
#[tool(tags("tasks"), task(manual))]
async fn pay_meanwhile(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let once = ctx.once("pay", async || {
        bench.started.fetch_add(1, Ordering::SeqCst);
        bench.go_on.acquire().await.expose()?.forget();
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    let (receipt, ()) = tokio::join!(once, ctx.start_task());
    Ok(receipt?.to_string())
}

/// Asks to become a task where it cannot.
#[tool(tags("tasks"), task(manual))]
async fn start_inside(ctx: &Context) -> Result<String> {
    let once = ctx.once("inside", async || {
        ctx.start_task().await;
        Ok("once".to_owned())
    });
    once.await
}

/// Fetches something in a step that lasts until the test lets it finish.
#[tool(tags("tasks"), task)]
async fn fetch(ctx: &Context, bench: State<Bench>, retry: bool) -> Result<String> {
    let work = async || {
        bench.started.fetch_add(1, Ordering::SeqCst);
        bench.go_on.acquire().await.expose()?.forget();
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    };
    let step = if retry {
        ctx.step("fetch", work)
    } else {
        ctx.once("fetch", work)
    };
    let fetched = step.await?;
    let Sure { sure } = ctx.elicit("Keep it?").key("keep").await?;
    Ok(format!("{fetched} {sure}"))
}

/// Fetches something without steps or questions.
#[tool(tags("tasks"), task)]
async fn fetch_quietly(bench: State<Bench>) -> Result<&'static str> {
    bench.started.fetch_add(1, Ordering::SeqCst);
    bench.go_on.acquire().await.expose()?.forget();
    Ok("fetched")
}

/// Waits, asks, and waits again.
#[tool(tags("tasks"), task)]
async fn ask_later(ctx: &Context, bench: State<Bench>) -> Result<String> {
    bench.go_on.acquire().await.expose()?.forget();
    let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
    Ok(sure.to_string())
}

/// A job that is started once, whatever becomes of its process.
#[tool(tags("tasks"), task(attempts = 1))]
fn delicate_job() {}

/// A job that is started again more often than others.
#[tool(tags("tasks"), task(attempts = 5))]
fn tough_job() {}

/// A job that runs alone.
#[tool(tags("tasks"), task, concurrency = 1)]
async fn narrow_job(bench: State<Bench>) -> Result<()> {
    bench.started.fetch_add(1, Ordering::SeqCst);
    bench.go_on.acquire().await.expose()?.forget();
    Ok(())
}

/// Makes a text.
#[tool(tags("tasks"), task)]
fn large(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Never a task.
#[tool(tags("tasks"))]
fn plain() -> &'static str {
    "plain"
}

fn server(bench: &Bench) -> Server {
    new_server!()
        .only(Selected::tag("tasks"))
        .state(bench.clone())
}

/// Connects a client that supports tasks and can answer questions.
async fn client_of(server: Server, version: Version) -> Client {
    let mut client = raw(server, version);
    client.capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
    client.connect().await
}

async fn connect(version: Version) -> (Client, Bench) {
    let bench = Bench::default();
    (client_of(server(&bench), version).await, bench)
}

/// Calls a tool and returns the task that answers the call.
async fn create(client: &mut Client, name: &str, arguments: Value) -> Value {
    let mut params = json!({"name": name, "arguments": arguments});
    if client.version() == LEGACY {
        params["task"] = json!({});
    }
    let created = client.ok("tools/call", params).await;
    if client.version() == LEGACY {
        return created["task"].clone();
    }
    assert_eq!(created["resultType"], "task", "{created}");
    created
}

async fn get(client: &mut Client, task: &Value) -> Value {
    client
        .ok("tasks/get", json!({"taskId": task["taskId"]}))
        .await
}

/// Waits until a task is no longer working and returns it.
async fn settled(client: &mut Client, task: &Value) -> Value {
    loop {
        let task = get(client, task).await;
        if task["status"] != "working" {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

async fn answer(client: &mut Client, task: &Value, answers: Value) {
    let params = json!({"taskId": task["taskId"], "inputResponses": answers});
    let answered = client.ok("tasks/update", params).await;
    let members: Vec<_> = answered.as_object().unwrap().keys().collect();
    assert_eq!(members, ["resultType", "_meta"], "{answered}");
}

fn accepted(sure: bool) -> Value {
    json!({"action": "accept", "content": {"sure": sure}})
}

/// Returns the text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
