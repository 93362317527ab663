use mcp_runtime::prelude::*;

struct Place {
    city: String,
}

#[tool]
fn look_up() -> Json<Place> {
    Json(Place { city: String::new() })
}

fn main() {}
