use mcp_runtime::prelude::*;

#[tool(read_only = 1)]
fn add() -> String {
    String::new()
}

fn main() {}
