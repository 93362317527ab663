use mcp_runtime::prelude::*;

#[tool(icons = ["https://example.com/a.png", "http://example.com/a.png"])]
fn drawn() -> &'static str {
    "drawn"
}

fn main() {}
