//! A server for tests that mistreat a server in a separate process: `subject`, or `subject --http 127.0.0.1:0`.
//!
//! `SHUTDOWN_DELAY` in the environment is its delay before a shutdown, in milliseconds.

use std::io::Write as _;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::types::LoggingLevel;

/// Writes to standard error when it starts, then blocks its thread for a minute.
#[tool]
fn block() {
    // Errors are ignored because nothing may be reading standard error.
    let _ = writeln!(std::io::stderr(), "blocked");
    std::thread::sleep(Duration::from_mins(1));
}

/// Returns a string with the given number of bytes.
#[tool]
fn fill(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Returns the id of an item.
#[resource_template("item:///{id}")]
fn item(id: String) -> String {
    id
}

/// Logs `count` messages of `bytes` bytes each.
#[tool]
async fn log(ctx: &Context, count: u32, bytes: usize) {
    for _ in 0..count {
        ctx.log(LoggingLevel::Error, "x".repeat(bytes));
        tokio::task::yield_now().await;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limits = Limits::default().with(|limits| {
        limits.calls.drain_timeout = Duration::from_secs(2);
        limits.log.max_per_second = u32::MAX;
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let delay = std::env::var("SHUTDOWN_DELAY").map_or(Ok(0), |delay| delay.parse())?;
    let options = HttpOptions::new().shutdown_delay(Duration::from_millis(delay));
    let server = new_server!().limits(limits).http(options);
    Ok(runtime.block_on(async { tokio::spawn(server.run()).await })??)
}
