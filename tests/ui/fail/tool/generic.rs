use mcp_runtime::prelude::*;

#[tool]
fn add<T: ToString, const N: usize>(a: T) -> String {
    a.to_string()
}

fn main() {}
