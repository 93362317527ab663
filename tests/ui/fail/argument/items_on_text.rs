use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(items(length(1..)))] name: String) -> String {
    name
}

fn main() {}
