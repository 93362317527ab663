use mcp_runtime::prelude::*;

#[completer]
fn languages() -> Vec<String> {
    Vec::new()
}

fn main() {}
