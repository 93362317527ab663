use mcp_runtime::prelude::*;

#[completer(rate = "often")]
fn words(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

fn main() {}
