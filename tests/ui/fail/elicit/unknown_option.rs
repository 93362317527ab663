use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Order {
    #[arg(titel = "Item")]
    item: String,
    #[arg(default = 'x')]
    letter: String,
    #[arg(format = "phone")]
    phone: String,
}

fn main() {}
