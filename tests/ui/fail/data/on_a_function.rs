use mcp_runtime::prelude::*;

#[data]
fn place() {}

fn main() {}
