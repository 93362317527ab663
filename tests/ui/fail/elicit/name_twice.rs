use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    item: String,
    #[elicit(name = "item")]
    other: String,
}

fn main() {}
