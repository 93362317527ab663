use mcp_runtime::prelude::*;

const LIMIT: i32 = 5;

#[tool(max_output = LIMIT)]
fn add() -> String {
    String::new()
}

fn main() {}
