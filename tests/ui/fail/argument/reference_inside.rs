use mcp_runtime::prelude::*;

#[tool]
fn add(a: Option<&str>, b: Vec<&'_ str>, c: Option<&[u8]>) -> i64 {
    let _ = (a, b, c);
    0
}

fn main() {}
