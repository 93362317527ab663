use mcp_runtime::prelude::*;

#[tool(title, meta, timeout)]
fn add(#[arg(name, example)] a: i64) -> i64 {
    a
}

fn main() {}
