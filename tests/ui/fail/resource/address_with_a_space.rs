use mcp_runtime::prelude::*;

#[resource("config://my app")]
fn config() -> String {
    String::new()
}

fn main() {}
