use mcp_runtime::prelude::*;

#[tool]
#[prompt]
fn add(a: i64) -> String {
    a.to_string()
}

fn main() {}
