use mcp_runtime::prelude::*;

#[completer]
fn languages(partial: &str) -> usize {
    partial.len()
}

fn main() {}
