use mcp_runtime::prelude::*;

#[tool(rate = 10)]
fn add() -> String {
    String::new()
}

fn main() {}
