use mcp_runtime::prelude::*;

#[tool(name = "add note")]
fn add() -> String {
    String::new()
}

fn main() {}
