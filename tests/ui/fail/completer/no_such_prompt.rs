use mcp_runtime::prelude::*;

#[completer(prompt = revue, argument = "language")]
fn languages(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

fn main() {}
