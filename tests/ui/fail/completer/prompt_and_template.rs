use mcp_runtime::prelude::*;

#[completer(prompt = review, template = note, argument = "id")]
fn ids(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

fn main() {}
