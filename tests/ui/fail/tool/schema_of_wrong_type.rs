use mcp_runtime::prelude::*;

#[tool(schema = 5)]
fn add() -> String {
    String::new()
}

fn main() {}
