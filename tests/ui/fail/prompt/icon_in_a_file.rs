use mcp_runtime::prelude::*;

#[prompt(icons = "file:///a.png")]
fn drawn() -> &'static str {
    "drawn"
}

fn main() {}
