use mcp_runtime::prelude::*;

/// A trip.
#[data(input)]
struct Trip {
    #[arg(header = "Region")]
    region: String,
    #[arg(flatten)]
    place: Place,
    #[arg(any_path)]
    path: String,
    #[arg(title = "People")]
    people: u8,
    #[serde(flatten)]
    #[arg(description = "Where")]
    other: Place,
    #[serde(skip)]
    #[arg(range(1..=9))]
    unseen: u8,
    #[serde(with = "days")]
    #[arg(default = 3)]
    days: u8,
}

#[data]
#[serde(transparent)]
struct Place(#[arg(name = "city", default = "Paris")] String);

#[data(output)]
struct Booking {
    #[arg(default = 1)]
    number: u32,
}

#[data(input)]
#[serde(try_from = "String")]
struct Code(#[arg(length(3))] String);

#[data]
enum Way {
    #[arg(name = "rail")]
    Train,
}

fn main() {}
