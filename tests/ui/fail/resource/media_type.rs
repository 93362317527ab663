use mcp_runtime::prelude::*;

#[resource("config://app", mime_type = "json")]
fn config() -> String {
    String::new()
}

fn main() {}
