//! Handlers that ask questions incorrectly: with changing contents, at the wrong time, or where questions are not
//! allowed.

use mcp_runtime::prelude::*;

use crate::asking::{Ledger, Name};

/// Asks a different question each time it runs.
#[tool(tags("asking"))]
async fn changing(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    let run = ledger.note("run").min(3);
    let Name { name } = ctx.elicit(format!("Attempt {run}?")).key("same").await?;
    Ok(name)
}

/// Asks a question inside a `once` block.
#[tool(tags("asking"))]
async fn inside_once(ctx: Context) -> Result<String> {
    let inner = ctx.clone();
    let name = ctx.once("ask", async || Ok(inner.elicit::<Name>("Who?").await?.name));
    name.await
}

/// Uses the same name for two `once` blocks.
#[tool(tags("asking"))]
async fn twice_once(ctx: Context) -> Result<usize> {
    ctx.once("a", async || Ok(1)).await?;
    ctx.once("a", async || Ok(2)).await
}

/// Returns the id of the call, as seen in each round.
#[tool(tags("asking"))]
async fn call_id(ctx: Context) -> Result<String> {
    let before = ctx.call_id().to_string();
    ctx.elicit::<Name>("Who?").await?;
    let id = ctx.once("id", async || Ok(before.clone())).await?;
    ctx.elicit::<Name>("Who really?").await?;
    Ok(format!("{id} {}", ctx.call_id()))
}

/// Takes an argument with completion.
#[prompt(tags("asking"))]
fn completed(#[complete(asking_completer)] what: String) -> String {
    what
}

/// A completer that asks a question, which is not allowed.
#[completer]
async fn asking_completer(_partial: &str, ctx: Context) -> Vec<String> {
    let asked = ctx.elicit::<Name>("Who?").await;
    vec![format!("{} {}", ctx.can_elicit(), asked.is_err())]
}
