use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order(String, u32);

fn main() {}
