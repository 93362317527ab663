use mcp_runtime::prelude::*;

#[prompt(scopes("notes:read", "notes:write", "notes:read"))]
fn write() -> String {
    String::new()
}

fn main() {}
