use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(range(5))] a: u8, #[arg(range = "1..5")] b: u8, #[arg(range)] c: u8, #[arg(range(LEAST..))] d: u8) -> String {
    format!("{a}{b}{c}{d}")
}

fn main() {}
