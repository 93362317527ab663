use mcp_runtime::prelude::*;

#[tool]
fn draw(#[arg(exclusive_minimum = 0)] name: String, #[arg(exclusive_minimum = -1)] count: u8) -> String {
    format!("{name}{count}")
}

fn main() {}
