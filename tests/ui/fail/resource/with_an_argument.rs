use mcp_runtime::prelude::*;

#[resource("config://app")]
fn config(key: String) -> String {
    key
}

fn main() {}
