use mcp_runtime::prelude::*;

#[tool(icons = [])]
fn add() -> String {
    String::new()
}

fn main() {}
