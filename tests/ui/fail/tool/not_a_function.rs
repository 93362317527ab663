use mcp_runtime::prelude::*;

#[tool]
struct Add;

fn main() {}
