//! A server that exports its traces and metrics to an OpenTelemetry collector. `telemetry.rs` can be copied as it is.

mod telemetry;

use mcp_runtime::prelude::*;

use telemetry::{Telemetry, link_to_caller};

/// Counts the words in a text.
#[tool(read_only)]
async fn count_words(text: &str) -> usize {
    // Part of the request's trace.
    tracing::info_span!("split").in_scope(|| text.split_whitespace().count())
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let telemetry = Telemetry::start()?;
    let served = new_server!().on_span(link_to_caller).run().await;
    telemetry.stop()?;
    Ok(served?)
}
