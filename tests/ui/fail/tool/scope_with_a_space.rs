use mcp_runtime::prelude::*;

#[tool(scopes("notes:read notes:write"))]
fn write() -> String {
    String::new()
}

fn main() {}
