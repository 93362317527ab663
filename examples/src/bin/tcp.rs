//! Serves all clients that connect to a TCP port of this machine: `tcp [ADDRESS]`, by default 127.0.0.1:7000.

use mcp_runtime::prelude::*;
use tokio::net::TcpListener;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:7000");
    new_server!().serve(TcpListener::bind(address).await?).await
}
