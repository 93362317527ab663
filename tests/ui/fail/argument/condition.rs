use mcp_runtime::prelude::*;

#[tool]
fn add(#[cfg(unix)] a: i64) -> i64 {
    a
}

fn main() {}
