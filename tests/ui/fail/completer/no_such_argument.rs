use mcp_runtime::prelude::*;

#[prompt]
fn review(code: String, language: String) -> String {
    format!("{code}{language}")
}

#[completer(prompt = review, argument = "lang")]
fn languages(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

fn main() {}
