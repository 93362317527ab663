use mcp_runtime::prelude::*;

#[resource("config://app", list = all)]
fn config() -> String {
    String::new()
}

fn main() {}
