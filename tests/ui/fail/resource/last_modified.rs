use mcp_runtime::prelude::*;

#[resource("config://app", last_modified = "yesterday")]
fn config() -> String {
    String::new()
}

fn main() {}
