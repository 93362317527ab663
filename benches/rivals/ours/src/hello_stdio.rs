//! `hello.rs` without any feature: standard input and output only.

use mcp_runtime::prelude::*;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
