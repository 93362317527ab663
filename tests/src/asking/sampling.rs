//! Handlers that ask a model.

use mcp_runtime::bail;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{
    CreateMessageResult, IncludeContext, ModelPreferences, Role, SamplingContent,
};

/// Sends a sampling request with a tool.
#[tool(tags("asking"))]
async fn with_tools(ctx: Context) -> Result<String> {
    let sample = SamplingRequest::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let said: CreateMessageResult = ctx.sample(sample).await?;
    Ok(said.text())
}

/// Sends a sampling request that uses a tool, followed by the tool's result.
#[tool(tags("asking"))]
async fn two_turns(ctx: Context) -> Result<String> {
    let sample = SamplingRequest::user("go").tool("t", "A tool.", json!({"type": "object"}));
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

/// Sends a sampling request with every option and returns the reason why the model stopped.
#[tool(tags("asking"))]
async fn in_full(ctx: Context) -> Result<String> {
    let preferences = ModelPreferences::new()
        .hint("small")
        .cost(1.0)
        .speed(0.5)
        .intelligence(0.0);
    let sample = SamplingRequest::user("go")
        .message(Role::Assistant, "where?")
        .message(Role::User, "home")
        .max_tokens(17)
        .system("Be brief.")
        .temperature(0.25)
        .stop_at("END")
        .prefer(preferences);
    let said = ctx.sample(sample).await?;
    Ok(format!(
        "{} {:?} {}",
        said.model,
        said.stop_reason,
        said.text()
    ))
}

/// Sends a sampling request that includes the context of this server.
#[tool(tags("asking"))]
async fn with_context(ctx: Context) -> Result<String> {
    let sample = SamplingRequest::user("go").include(IncludeContext::ThisServer);
    Ok(ctx.sample(sample).await?.text())
}
