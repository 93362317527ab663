//! A server to be mistreated, in a process of its own: `subject --http 127.0.0.1:0`.

use std::io::Write as _;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::types::LoggingLevel;

/// Says on standard error that it runs, and blocks its thread for a minute.
#[tool]
fn block() {
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "blocked");
    std::thread::sleep(Duration::from_mins(1));
}

/// Answers with so many bytes.
#[tool]
fn fill(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Logs so many messages of so many bytes.
#[tool]
async fn log(ctx: &Context, count: u32, bytes: usize) {
    for _ in 0..count {
        ctx.log(LoggingLevel::Error, "x".repeat(bytes));
        tokio::task::yield_now().await;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limits = Limits {
        drain: Duration::from_secs(2),
        logs: u32::MAX,
        ..Limits::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let server = new_server!().limits(limits);
    Ok(runtime.block_on(async { tokio::spawn(server.run()).await })??)
}
