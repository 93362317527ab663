use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Address {
    street: String,
}

#[derive(Elicit)]
struct Order {
    item: String,
    address: Address,
}

fn main() {}
