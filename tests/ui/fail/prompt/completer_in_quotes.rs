use mcp_runtime::prelude::*;

#[prompt]
fn review(#[complete("langs")] language: String, #[complete] code: String, #[complete(["a", 1])] style: String) -> String {
    format!("{language}{code}{style}")
}

fn main() {}
