use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    item: String,
    #[arg(name = "item")]
    other: String,
}

fn main() {}
