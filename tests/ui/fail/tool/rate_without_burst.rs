use mcp_runtime::prelude::*;

#[tool(rate = "10/s burst per caller")]
fn add() -> String {
    String::new()
}

fn main() {}
