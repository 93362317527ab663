use mcp_runtime::prelude::*;

#[prompt]
fn review(#[complete(langs)] language: String) -> String {
    language
}

fn main() {}
