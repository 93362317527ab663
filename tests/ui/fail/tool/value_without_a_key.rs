use mcp_runtime::prelude::*;

#[tool("add", read_only(true))]
fn add(#[arg(flatten = true)] a: i64) -> i64 {
    a
}

fn main() {}
