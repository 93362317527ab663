use mcp_runtime::prelude::*;

#[tool]
unsafe fn add() -> String {
    String::new()
}

fn main() {}
