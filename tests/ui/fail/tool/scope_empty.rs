use mcp_runtime::prelude::*;

#[tool(scopes("notes:read", ""))]
fn read() -> String {
    String::new()
}

fn main() {}
