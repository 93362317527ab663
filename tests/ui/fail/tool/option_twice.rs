use mcp_runtime::prelude::*;

#[tool(title = "Add", title = "Add two numbers")]
fn add() -> String {
    String::new()
}

fn main() {}
