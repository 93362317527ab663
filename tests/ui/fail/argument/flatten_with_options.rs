use mcp_runtime::prelude::*;

#[data]
struct Place {
    city: String,
}

#[tool]
fn visit(#[arg(flatten, default = 5, name = "place")] place: Place) -> String {
    place.city
}

fn main() {}
