use mcp_runtime::prelude::*;

#[data(input)]
struct Trip {
    #[arg(range(1..=9))]
    people: u8,
    #[complete(["Paris", "Rome"])]
    to: String,
}

/// Books a trip.
#[tool]
fn book(trip: Trip) -> String {
    format!("{} to {}", trip.people, trip.to)
}

fn main() {}
