use mcp_runtime::prelude::*;

#[tool(timeout = 5)]
fn add() -> String {
    String::new()
}

fn main() {}
