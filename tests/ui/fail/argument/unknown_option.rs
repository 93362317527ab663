use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(descripton = "Left operand")] a: i64) -> i64 {
    a
}

fn main() {}
