use mcp_runtime::prelude::*;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
