//! Serves everybody who connects to a Unix socket: `unix_socket [PATH]`, by default `mcp.sock`.

#![warn(unused_crate_dependencies)]

use mcp_runtime::prelude::*;
use tokio as _;

/// Greets somebody.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[cfg(unix)]
#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    use mcp_runtime::transport::{Connection, Transport};
    use tokio::net::UnixListener;

    /// One client per connection.
    struct Unix(UnixListener);

    impl Transport for Unix {
        async fn accept(&mut self) -> Option<std::io::Result<Connection>> {
            let accepted = self.0.accept().await;
            Some(accepted.map(|(stream, _)| Connection::from_stream(stream)))
        }
    }

    let path = std::env::args().nth(1);
    let path = path.as_deref().unwrap_or("mcp.sock");
    // What a former run left behind.
    let _ = std::fs::remove_file(path);
    new_server!().serve(Unix(UnixListener::bind(path)?)).await
}

#[cfg(not(unix))]
fn main() {}
