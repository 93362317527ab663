use mcp_runtime::prelude::*;

#[prompt]
fn review(language: String) -> String {
    language
}

#[completer(prompt = review)]
fn languages(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

#[completer(argument = "language")]
fn more_languages(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

fn main() {}
