use mcp_runtime::prelude::*;

#[tool(name = "")]
fn add() -> String {
    String::new()
}

fn main() {}
