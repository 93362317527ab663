use mcp_runtime::prelude::*;

#[resource("config")]
fn config() -> String {
    String::new()
}

fn main() {}
