use mcp_runtime::prelude::*;

#[resource(mime_type = "text/plain")]
fn config() -> String {
    String::new()
}

#[resource]
fn settings() -> String {
    String::new()
}

fn main() {}
