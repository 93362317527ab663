use mcp_runtime::prelude::*;

#[data(input, output)]
struct Place {
    city: String,
}

fn main() {}
