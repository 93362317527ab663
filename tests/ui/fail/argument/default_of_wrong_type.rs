use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(default = String::new())] count: u8) -> String {
    count.to_string()
}

fn main() {}
