use mcp_runtime::prelude::*;

#[data]
struct Place {
    city: String,
}

#[tool]
fn visit(#[arg(default)] place: Place) -> String {
    place.city
}

fn main() {}
