use mcp_runtime::prelude::*;

#[derive(Elicit)]
enum Delivery {
    Pickup,
    Address(String),
}

fn main() {}
