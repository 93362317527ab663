//! Long work: a call that goes on as a task, reports how far it is, and asks before it commits.

use std::time::Duration;

use mcp_runtime::prelude::*;

/// The user's decision to go on.
#[derive(Elicit)]
struct Sure {
    /// Commit them?
    sure: bool,
}

/// Imports the rows of a ledger.
#[tool(task(ttl = "30m", poll = "2s"))]
async fn import(ctx: &Context, rows: u32) -> Result<String> {
    for row in 1..=rows {
        // Each row is loaded and reported only once, however often the handler runs.
        let step = ctx.once(format!("row-{row}"), async || {
            load(row).await?;
            ctx.progress((row, rows, "loading rows"));
            Ok(())
        });
        step.await?;
    }
    let Sure { sure } = ctx.elicit(format!("Commit {rows} rows?")).await?;
    if !sure {
        bail!("{rows} rows were loaded, but not committed");
    }
    Ok(format!("{rows} rows committed"))
}

async fn load(_row: u32) -> Result<()> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
