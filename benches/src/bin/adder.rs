//! The server that is measured: one tool of two integers, over standard input and output, on one thread.

use mcp_runtime::prelude::*;

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
