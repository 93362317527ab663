use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    #[arg(titel = "Item")]
    item: String,
    #[arg(default = Vec::new())]
    count: u32,
    #[arg(format = "phone")]
    phone: String,
}

fn main() {}
