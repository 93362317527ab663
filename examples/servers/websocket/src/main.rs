//! MCP over WebSocket: a custom transport, behind axum. Each connection is a client, and each text frame a message.
//!
//! `websocket --help` lists the settings. Clients connect to `ws://127.0.0.1:8765/mcp`. Callers are anonymous: name them
//! with `Connection::with_principal` if the upgrade request has credentials, and put TLS in front of other machines.

mod http;
#[cfg(test)]
mod tests;
mod transport;

use mcp_runtime::prelude::*;
use tokio::net::TcpListener;

/// The settings. The variables begin with `WEBSOCKET_`.
#[data(input)]
struct Settings {
    /// Address to listen on
    #[arg(default = "127.0.0.1:8765")]
    listen: String,
    /// Origins of the web pages that may connect, such as `https://app.example.com`; programs send none
    #[arg(default)]
    origins: Vec<String>,
}

/// Greets a user.
#[tool(read_only)]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = new_server!().env::<Settings>("WEBSOCKET_");
    let settings = server.env_value::<Settings>()?;
    let Some(server) = server.command_line().await? else {
        return Ok(()); // a command such as `check` was run
    };
    let listener = TcpListener::bind(&settings.listen).await?;
    eprintln!("ws://{}/mcp", listener.local_addr()?);
    let handle = server.handle();
    tokio::spawn(async move {
        mcp_runtime::server::shutdown_signal().await;
        handle.shut_down();
    });
    http::serve(server, listener, settings.origins.clone()).await
}
