use mcp_runtime::prelude::*;

#[tool(rate = "10/m")]
fn add() -> String {
    String::new()
}

fn main() {}
