use mcp_runtime::prelude::*;

use std::time::Duration;

#[tool]
fn add() -> Duration {
    Duration::ZERO
}

#[tool]
async fn wait(by: &str) -> Result<Duration> {
    let _ = by;
    Ok(Duration::ZERO)
}

fn main() {}
