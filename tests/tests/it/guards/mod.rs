//! Limits on handlers: call rate, concurrency, run time, and result size.

mod concurrency;
mod rates;
mod shared_rates;
mod sizes;

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use tests::client::Failure;
use tests::wait::in_time;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::fixture::Shared;

const SECOND: Duration = Duration::from_secs(1);

const MILLISECOND: Duration = Duration::from_millis(1);

#[tool(tags("guards"), rate = "2/min")]
fn rare() -> &'static str {
    "called"
}

#[tool(tags("guards"), rate = "2/min per caller")]
fn each() -> &'static str {
    "called"
}

#[tool(tags("guards", "quota"), rate = "2/min per claim tenant")]
fn each_tenant() -> &'static str {
    "called"
}

#[tool(tags("guards", "quota"), rate = "2/min per header X-Tenant")]
fn each_header() -> &'static str {
    "called"
}

#[prompt(tags("guards"), rate = "1/min")]
fn greet(#[complete(words)] word: &str) -> String {
    word.to_owned()
}

#[completer(rate = "1/min")]
fn words(_partial: &str) -> [&'static str; 1] {
    ["hello"]
}

#[resource("guards://one", tags("guards"), rate = "1/min")]
fn one() -> &'static str {
    "one"
}

#[resource_template("guards://many/{id}", tags("guards"), rate = "1/min")]
fn many(id: &str) -> String {
    id.to_owned()
}

#[tool(tags("guards"), concurrency = 2, timeout = "10s")]
async fn two_at_once(shared: State<Shared>) -> &'static str {
    crate::fixture::waiting::wait(shared).await
}

/// The gate at which a blocking thread waits.
#[derive(Clone)]
struct Gate {
    entered: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self {
            entered: closed(),
            open: closed(),
        }
    }
}

#[tool(tags("guards"), concurrency = 1, blocking)]
fn one_thread(gate: &State<Gate>) {
    gate.entered.add_permits(1);
    // A test that fails first does not open the gate, and its runtime waits for this thread.
    let open = Handle::current().block_on(in_time(gate.open.acquire()));
    open.expect("it is never closed").forget();
}

#[tool(tags("guards"), max_output = "1KB")]
fn short(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[resource_template("guards://short/{bytes}", tags("guards"), max_output = "1KB")]
fn short_text(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[prompt(tags("guards"), timeout = "5s")]
async fn endless() -> String {
    std::future::pending().await
}

#[tool(tags("guards"))]
fn free() -> &'static str {
    "called"
}

#[tool(tags("guards"))]
fn log(ctx: &Context, characters: usize) {
    ctx.info("x".repeat(characters));
}

/// The name of a user.
#[derive(Elicit)]
struct Name {
    name: String,
}

#[tool(tags("guards"), rate = "1/h")]
async fn ask_twice(ctx: Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").key("first").await?;
    let Name { name: other } = ctx.elicit("And who else?").key("second").await?;
    Ok(format!("{name} and {other}"))
}

fn server() -> Server {
    Server::new("guards", "1")
        .only(Selected::tag("guards"))
        .state(Shared::default())
        .state(Gate::default())
}

fn retry_after(failure: &Failure) -> u64 {
    failure.data["retryAfterMs"].as_u64().unwrap()
}
