use mcp_runtime::prelude::*;

#[prompt(rate = "0/s")]
fn greet() -> String {
    String::new()
}

fn main() {}
