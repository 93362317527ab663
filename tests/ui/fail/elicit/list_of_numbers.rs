use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    items: Vec<u32>,
}

fn main() {}
