use mcp_runtime::prelude::*;

struct Place {
    city: String,
}

#[data]
struct Trip {
    from: Place,
    stops: Vec<Place>,
}

fn main() {}
