use mcp_runtime::prelude::*;

#[tool(icons = [5, icon(source = "https://example.com/a.png"), icon(src = "https://example.com/a.png", theme = "blue")])]
fn add() -> String {
    String::new()
}

fn main() {}
