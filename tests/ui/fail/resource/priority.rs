use mcp_runtime::prelude::*;

#[resource("config://app", priority = 2)]
fn config() -> String {
    String::new()
}

fn main() {}
