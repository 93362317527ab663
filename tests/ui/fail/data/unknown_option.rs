use mcp_runtime::prelude::*;

#[data(inptu)]
struct Place {
    city: String,
}

fn main() {}
