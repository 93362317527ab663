use mcp_runtime::prelude::*;

#[tool(blocking)]
async fn add() -> String {
    String::new()
}

fn main() {}
