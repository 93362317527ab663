use mcp_runtime::prelude::*;

/// Asks.
#[tool]
async fn ask(ctx: Context) -> Result<String> {
    let name: String = ctx.elicit("Name?").await?;
    Ok(name)
}

fn main() {}
