use mcp_runtime::prelude::*;

#[tool(name = 5)]
fn add() -> String {
    String::new()
}

fn main() {}
