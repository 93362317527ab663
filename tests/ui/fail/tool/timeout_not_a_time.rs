use mcp_runtime::prelude::*;

#[tool(timeout = "5 seconds", ttl = "soon")]
fn add() -> String {
    String::new()
}

fn main() {}
