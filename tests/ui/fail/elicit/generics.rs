use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order<T> {
    item: T,
}

fn main() {}
