use mcp_runtime::prelude::*;

#[prompt]
fn review(#[complete("langs")] language: String, #[complete] code: String) -> String {
    format!("{language}{code}")
}

fn main() {}
