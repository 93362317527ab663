use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    #[arg(range(1..=3))]
    item: String,
    #[arg(length(..=3))]
    count: u32,
    #[arg(format = "date")]
    sure: bool,
    #[arg(default = "two")]
    days: u32,
}

fn main() {}
