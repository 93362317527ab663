use mcp_runtime::prelude::*;

#[data(output, allow_unknown_fields)]
struct Place {
    city: String,
}

fn main() {}
