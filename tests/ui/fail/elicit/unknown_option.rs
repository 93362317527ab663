use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    #[elicit(titel = "Item")]
    item: String,
    #[elicit(default = Vec::new())]
    count: u32,
    #[elicit(format = "phone")]
    phone: String,
}

fn main() {}
