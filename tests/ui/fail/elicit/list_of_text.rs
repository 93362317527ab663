use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    items: Vec<String>,
}

fn main() {}
