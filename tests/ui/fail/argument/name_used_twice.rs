use mcp_runtime::prelude::*;

#[tool]
fn add(left: i64, #[arg(name = "left")] right: i64) -> i64 {
    left + right
}

fn main() {}
