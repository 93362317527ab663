use mcp_runtime::prelude::*;

#[tool(meta = "x")]
fn add() -> String {
    String::new()
}

fn main() {}
