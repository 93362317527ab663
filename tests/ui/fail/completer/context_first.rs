use mcp_runtime::prelude::*;

#[completer]
fn languages(ctx: &Context, partial: &str) -> Vec<String> {
    let _ = ctx;
    vec![partial.to_owned()]
}

fn main() {}
