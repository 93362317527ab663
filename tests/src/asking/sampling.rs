//! Handlers that ask a model.

use mcp_runtime::bail;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{
    CreateMessageResult, IncludeContext, ModelPreferences, Role, SamplingContent,
};

/// A loop with tools.
#[tool(group = "asking")]
async fn with_tools(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let said: CreateMessageResult = ctx.sample(sample).await?;
    Ok(said.text())
}

/// A turn of a model that uses a tool, and the turn after it.
#[tool(group = "asking")]
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

/// Says all that can be said to a model, and how it ended.
#[tool(group = "asking")]
async fn in_full(ctx: Context) -> Result<String> {
    let preferences = ModelPreferences::new()
        .hint("small")
        .cost(1.0)
        .speed(0.5)
        .intelligence(0.0);
    let sample = Sample::user("go")
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

/// Asks a model that is shown what this server gave the client.
#[tool(group = "asking")]
async fn with_context(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").include(IncludeContext::ThisServer);
    Ok(ctx.sample(sample).await?.text())
}
