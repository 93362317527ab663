use mcp_runtime::prelude::*;

#[tool]
fn add(a: &'static str) -> String {
    a.to_owned()
}

fn main() {}
