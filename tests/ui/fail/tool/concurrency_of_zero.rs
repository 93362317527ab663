use mcp_runtime::prelude::*;

#[tool(concurrency = 0)]
fn add() -> String {
    String::new()
}

#[tool(concurrency = "four")]
fn subtract() -> String {
    String::new()
}

fn main() {}
