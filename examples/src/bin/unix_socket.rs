//! Serves all clients that connect to a Unix socket: `unix_socket [PATH]`, by default `mcp.sock`.

use mcp_runtime::prelude::*;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[cfg(unix)]
#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    use std::os::unix::fs::FileTypeExt;

    use tokio::net::UnixListener;

    let path = std::env::args().nth(1);
    let path = path.as_deref().unwrap_or("mcp.sock");
    // A socket left behind by an earlier run would be in the way.
    if std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    new_server!().serve(UnixListener::bind(path)?).await
}

#[cfg(not(unix))]
fn main() {}
