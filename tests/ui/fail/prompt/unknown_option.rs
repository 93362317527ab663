use mcp_runtime::prelude::*;

#[prompt(mime_type = "text/plain")]
fn review(code: String) -> String {
    code
}

fn main() {}
