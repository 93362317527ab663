use mcp_runtime::prelude::*;

#[resource("config://app", audience(users))]
fn config() -> String {
    String::new()
}

fn main() {}
