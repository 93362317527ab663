use mcp_runtime::prelude::*;

#[prompt]
fn review(code: String) -> u8 {
    code.len() as u8
}

fn main() {}
