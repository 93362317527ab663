use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    #[elicit(range(1..=3))]
    item: String,
    #[elicit(length(..=3))]
    count: u32,
    #[elicit(format = "date")]
    sure: bool,
    #[elicit(default = "two")]
    days: u32,
}

fn main() {}
