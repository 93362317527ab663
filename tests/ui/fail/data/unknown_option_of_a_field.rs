use mcp_runtime::prelude::*;

#[data(input)]
struct Order {
    #[arg(min = 1)]
    quantity: u8,
    #[arg(lenght(..=3))]
    article: String,
}

fn main() {}
