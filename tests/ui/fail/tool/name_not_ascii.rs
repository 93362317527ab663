use mcp_runtime::prelude::*;

#[tool]
fn größe() -> String {
    String::new()
}

fn main() {}
