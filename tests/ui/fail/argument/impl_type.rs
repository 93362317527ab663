use mcp_runtime::prelude::*;

#[tool]
fn add(a: impl Into<String>) -> String {
    a.into()
}

fn main() {}
