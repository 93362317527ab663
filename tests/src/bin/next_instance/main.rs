//! The next build of `instance`: two of its tools take another argument, one no longer exists, and one is new.

#[path = "../instance/common.rs"]
mod common;

use mcp_runtime::prelude::*;

use crate::common::Folder;

/// Greets someone in a language.
#[tool]
fn greet(name: String, language: String) -> String {
    [name, language].join(" in ")
}

/// Waits, and then greets someone in a language.
#[tool(task)]
async fn greet_later(folder: State<Folder>, name: String, language: String) -> Result<String> {
    folder.note("greet_later")?;
    folder.wait_for("go").await;
    Ok(format!("Hello, {name}, in {language}!"))
}

/// Waits. This tool is new.
#[tool(task)]
async fn added(folder: State<Folder>) -> Result<&'static str> {
    folder.note("added")?;
    folder.wait_for("go").await;
    Ok("added")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    common::run(Server::new("instance", "2.0.0")).await
}
