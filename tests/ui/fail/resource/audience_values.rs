use mcp_runtime::prelude::*;

#[resource("a:b", audience("assistant"))]
fn quoted() -> &'static str {
    ""
}

#[resource("a:c", audience = "assistant")]
fn assigned() -> &'static str {
    ""
}

fn main() {}
