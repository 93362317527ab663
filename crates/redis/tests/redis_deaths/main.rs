//! Kills a server with SIGKILL before and after every operation of its task store in Redis, lets another process continue
//! the task, and counts how often each step was done. The test of the store in SQLite has the tools and the driver. Then
//! does the same with calls that are not tasks (`calls`).
//!
//! `tests/redis/run` tries every single death and some pairs of deaths, and with `--all`, all pairs. Without `--ignored`,
//! the program does nothing, because it needs a `redis-server`.

#![allow(clippy::print_stdout, reason = "it prints a table")]

#[cfg(unix)]
mod calls;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/driver.rs"]
mod driver;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/judge.rs"]
mod judge;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/mortal.rs"]
mod mortal;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/run.rs"]
mod run;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/server.rs"]
mod server;
#[cfg(unix)]
mod store;
#[cfg(unix)]
#[allow(dead_code, reason = "the tests of the store itself use the rest")]
#[path = "../redis/support.rs"]
mod support;
#[cfg(unix)]
#[path = "../../../sqlite/tests/deaths/tools.rs"]
mod tools;

#[cfg(unix)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if let Some(folder) = std::env::var_os("FOLDER") {
        if std::env::var_os(calls::CALLS).is_some() {
            return calls::server::serve(folder.as_ref()).await;
        }
        return server::serve(folder.as_ref()).await;
    }
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    // A name chooses tests, as in other tests.
    let is_chosen = |name: String| name.starts_with('-') || "redis_deaths".contains(&*name);
    if !has("--ignored") || !std::env::args().skip(1).all(is_chosen) {
        return Ok(());
    }
    let _redis = store::start();
    let tasks = driver::drive(has("--all")).await;
    calls::drive(has("--all")).await.and(tasks)
}

#[cfg(not(unix))]
fn main() {}
