use mcp_runtime::prelude::*;

#[tool(titel = "Add")]
fn add(a: i64) -> String {
    a.to_string()
}

fn main() {}
