use mcp_runtime::prelude::*;

#[tool(max_output = "256 kilobytes")]
fn add() -> String {
    String::new()
}

#[tool(max_output = 256)]
fn subtract() -> String {
    String::new()
}

fn main() {}
