use mcp_runtime::prelude::*;

#[tool(spill)]
fn add() -> String {
    String::new()
}

#[tool(max_output = "1KB", spill)]
fn subtract() -> String {
    String::new()
}

#[tool(max_output = "6k words", spill)]
fn divide() -> String {
    String::new()
}

fn main() {}
