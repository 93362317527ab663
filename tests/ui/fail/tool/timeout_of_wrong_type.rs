use mcp_runtime::prelude::*;

const LIMIT: u64 = 5;

#[tool(timeout = LIMIT)]
fn add() -> String {
    String::new()
}

fn main() {}
