//! Output for operators: spans, metrics and refusals, and the data that is never shown.

pub(crate) mod capture;
mod counts;
mod extensions;
mod refusals;
mod secrets;
mod spans;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::CallToolResult;

/// Logs before and after yielding to other tasks, and in a separate span.
#[tool(tags("telemetry"))]
async fn talk() -> &'static str {
    tracing::info!("before");
    tokio::task::yield_now().await;
    let inner = tracing::info_span!("inner");
    inner.in_scope(|| tracing::info!("inside"));
    tracing::info!("after");
    "talked"
}

/// Logs immediately.
#[tool(tags("telemetry"))]
fn talk_now() {
    tracing::info!("at once");
}

/// Logs from a separate thread.
#[tool(tags("telemetry"), blocking)]
fn talk_blocking() {
    tracing::info!("on a thread");
}

/// Returns a result that is an error.
#[tool(tags("telemetry"))]
fn return_error() -> CallToolResult {
    let mut result = CallToolResult::text("this is an error");
    result.is_error = true;
    result
}

/// The place in a trace, as a handler passes it on.
#[tool(tags("telemetry"))]
fn trace(ctx: &Context) -> String {
    let trace = ctx.trace_context();
    trace.map_or_else(
        || "none".to_owned(),
        |trace| format!("{trace} {}", trace.tracestate().unwrap_or_default()),
    )
}

/// Fails with a code that is the server's fault.
#[tool(tags("telemetry"))]
fn broken() -> Result<String> {
    Err(HandlerError::protocol(
        mcp_runtime::types::ErrorObject::new(
            mcp_runtime::types::ErrorObject::INTERNAL_ERROR,
            "broken",
        ),
    ))
}

/// Returns the fixture with the handlers that log.
fn server() -> Server {
    crate::fixture::server().only(Selected::tag("telemetry"))
}
