//! An instance of a server that shares a Redis with others, over HTTP on a free port. Tests start and kill several.
//!
//! The tools here are those that the next build, `next_instance`, has changed or no longer has.

mod common;

use mcp_runtime::prelude::*;

use crate::common::Folder;

/// Greets someone.
#[tool]
fn greet(name: String) -> String {
    name + "!"
}

/// Waits, and then greets someone.
#[tool(task)]
async fn greet_later(folder: State<Folder>, name: String) -> Result<String> {
    folder.note("greet_later")?;
    folder.wait_for("go").await;
    Ok(format!("Hello, {name}!"))
}

/// Waits. The next build no longer has this tool.
#[tool(task)]
async fn retired(folder: State<Folder>) -> Result<&'static str> {
    folder.note("retired")?;
    folder.wait_for("go").await;
    Ok("retired")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    common::run(Server::new("instance", "1.0.0")).await
}
