use mcp_runtime::prelude::*;

#[tool(read_only, destructive)]
fn add() -> String {
    String::new()
}

fn main() {}
