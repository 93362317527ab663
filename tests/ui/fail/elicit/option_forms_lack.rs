use mcp_runtime::prelude::*;

#[derive(Elicit)]
#[arg(title = "Order")]
struct Order {
    #[arg(pattern = "^[A-Z]+$")]
    article: String,
    #[arg(example = 3)]
    count: u8,
    #[arg(header = "Region")]
    region: String,
    #[arg(flatten)]
    place: String,
    #[arg(any_path)]
    file: String,
    #[arg(items(length(..=3)))]
    labels: Vec<String>,
    #[arg(range(1..=3), default = 5)]
    days: u8,
}

fn main() {}
