use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(range(5..=1))] count: u8, #[arg(length(5..5))] name: String) -> String {
    format!("{count}{name}")
}

fn main() {}
