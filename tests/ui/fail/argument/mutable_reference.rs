use mcp_runtime::prelude::*;

#[tool]
fn add(a: &mut String) -> String {
    a.push('x');
    String::new()
}

fn main() {}
