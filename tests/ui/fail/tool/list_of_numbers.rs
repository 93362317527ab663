use mcp_runtime::prelude::*;

#[tool]
fn count() -> Vec<u32> {
    vec![1, 2]
}

fn main() {}
