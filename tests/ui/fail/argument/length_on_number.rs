use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(length(1..=5))] count: u32, #[arg(pattern = "x")] flag: bool, #[arg(format = "uri")] size: Option<u8>) -> String {
    format!("{count}{flag}{size:?}")
}

fn main() {}
