//! Serves everybody who connects to a TCP port of this machine: `tcp [ADDRESS]`, by default 127.0.0.1:7000.

#![warn(unused_crate_dependencies)]

use std::io;

use mcp_runtime::prelude::*;
use mcp_runtime::transport::{Connection, Transport};
use tokio::net::TcpListener;

/// Greets somebody.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

/// One client per connection.
struct Tcp(TcpListener);

impl Transport for Tcp {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = self.0.accept().await;
        Some(accepted.map(|(stream, _)| Connection::from_stream(stream)))
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:7000");
    new_server!()
        .serve(Tcp(TcpListener::bind(address).await?))
        .await
}
