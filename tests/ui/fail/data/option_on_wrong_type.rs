use mcp_runtime::prelude::*;

#[data(input)]
struct Order {
    #[arg(range(1..=5))]
    article: String,
    #[arg(length(..=3))]
    quantity: u8,
    #[arg(range(..=300))]
    weight: u8,
    #[arg(range(1..=5), default = 7)]
    urgency: u8,
    #[arg(default = String::new())]
    count: u16,
    #[arg(pattern = "(")]
    code: String,
}

fn main() {}
