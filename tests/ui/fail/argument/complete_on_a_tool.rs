use mcp_runtime::prelude::*;

#[completer]
fn languages(partial: &str) -> Vec<String> {
    vec![partial.to_owned()]
}

#[tool]
fn add(#[complete(languages)] language: String) -> String {
    language
}

fn main() {}
