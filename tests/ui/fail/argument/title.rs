use mcp_runtime::prelude::*;

/// Greets.
#[tool]
fn greet(#[arg(title = "Name")] name: String) -> String {
    name
}

fn main() {}
