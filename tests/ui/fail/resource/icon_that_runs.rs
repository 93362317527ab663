use mcp_runtime::prelude::*;

#[resource("config://app", icons = [icon(src = "javascript:alert(1)")])]
fn drawn() -> &'static str {
    "drawn"
}

fn main() {}
