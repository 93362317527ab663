use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(description = "The counter")] counter: State<u8>, #[arg(name = "n")] number: u8) -> u8 {
    *counter + number
}

fn main() {}
