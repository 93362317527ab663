use mcp_runtime::prelude::*;

#[tool(rate = "10 per minute")]
fn add() -> String {
    String::new()
}

fn main() {}
