use mcp_runtime::prelude::*;

#[tool]
fn add(_: i64) -> String {
    String::new()
}

fn main() {}
