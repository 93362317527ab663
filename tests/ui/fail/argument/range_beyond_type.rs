use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(range(0..=300))] count: u8, #[arg(range(-1..))] size: Option<u64>) -> String {
    format!("{count}{size:?}")
}

fn main() {}
