use mcp_runtime::prelude::*;

#[tool(cache = "shared")]
fn add() -> String {
    String::new()
}

fn main() {}
