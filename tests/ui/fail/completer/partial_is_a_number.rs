use mcp_runtime::prelude::*;

#[completer]
fn languages(partial: u8) -> Vec<String> {
    vec![partial.to_string()]
}

fn main() {}
