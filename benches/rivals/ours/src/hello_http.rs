//! `hello.rs` without the command line: standard input and output, or HTTP with `--http`.

use mcp_runtime::prelude::*;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let server = new_server!();
    if std::env::args().nth(1).as_deref() == Some("--http") {
        return server.serve_http("127.0.0.1:8000").await;
    }
    server.run().await
}
