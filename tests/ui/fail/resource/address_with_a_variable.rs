use mcp_runtime::prelude::*;

#[resource("notes:///{id}")]
fn note() -> String {
    String::new()
}

fn main() {}
