use mcp_runtime::prelude::*;

/// A place.
#[data]
struct Place {
    #[arg(length(1..=80))]
    name: String,
    #[arg(range(-90.0..=90.0))]
    #[arg(range(-90.0..=90.0))]
    latitude: f64,
}

/// Saves a place.
#[tool]
fn save(place: Place, others: Vec<Place>) -> Json<Place> {
    let _ = others;
    Json(place)
}

fn main() {}
