//! Handlers that ask a model.

use mcp_runtime::bail;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{CreateMessageResult, IncludeContext, Role, SamplingContent};

/// Sends a sampling request with a tool.
#[tool(tags("asking"))]
async fn with_tools(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let said: CreateMessageResult = ctx.sample(sample).await?;
    Ok(said.text())
}

/// Sends a sampling request that uses a tool, and then the tool's result.
#[tool(tags("asking"))]
async fn two_turns(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let used = ctx.sample(sample.clone()).await?;
    let id = match used.content.first() {
        Some(SamplingContent::ToolUse { id, .. }) => id.clone(),
        other => bail!("no use of a tool: {other:?}"),
    };
    let mut next = sample;
    next.messages.push(used.into_message());
    let result = SamplingContent::ToolResult {
        tool_use_id: id,
        content: vec![ContentBlock::text("7")],
        is_error: false,
    };
    Ok(ctx.sample(next.message(Role::User, result)).await?.text())
}

/// Sends a sampling request that includes the context of this server.
#[tool(tags("asking"))]
async fn with_context(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").include(IncludeContext::ThisServer);
    Ok(ctx.sample(sample).await?.text())
}
