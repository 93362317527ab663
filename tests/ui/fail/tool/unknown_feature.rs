use mcp_runtime::prelude::*;

#[tool(requires(samplin))]
fn add() -> String {
    String::new()
}

fn main() {}
