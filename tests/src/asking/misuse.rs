//! Handlers that ask what, when or where nothing should be asked.

use mcp_runtime::prelude::*;

use crate::asking::{Ledger, Name};

/// Asks something else in every run.
#[tool(group = "asking")]
async fn changing(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    let run = ledger.note("run").min(3);
    let Name { name } = ctx.elicit(format!("Attempt {run}?")).key("same").await?;
    Ok(name)
}

/// Asks inside of what is done once.
#[tool(group = "asking")]
async fn inside_once(ctx: Context) -> Result<String> {
    let inner = ctx.clone();
    let name = ctx.once("ask", async || Ok(inner.elicit::<Name>("Who?").await?.name));
    name.await
}

/// Uses a name twice.
#[tool(group = "asking")]
async fn twice_once(ctx: Context) -> Result<usize> {
    ctx.once("a", async || Ok(1)).await?;
    ctx.once("a", async || Ok(2)).await
}

/// Says which call it is, in every round.
#[tool(group = "asking")]
async fn call_id(ctx: Context) -> Result<String> {
    let before = ctx.call_id().to_string();
    ctx.elicit::<Name>("Who?").await?;
    let id = ctx.once("id", async || Ok(before.clone())).await?;
    ctx.elicit::<Name>("Who really?").await?;
    Ok(format!("{id} {}", ctx.call_id()))
}

/// Takes something that is completed.
#[prompt(group = "asking")]
fn completed(#[complete(asking_completer)] what: String) -> String {
    what
}

/// Asks where nothing may be asked.
#[completer]
async fn asking_completer(_partial: &str, ctx: Context) -> Vec<String> {
    let asked = ctx.elicit::<Name>("Who?").await;
    vec![format!("{} {}", ctx.can_elicit(), asked.is_err())]
}
