use mcp_runtime::prelude::*;

/// A trip.
#[data(input, allow_unknown_fields)]
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
    #[serde(deserialize_with = "days")]
    #[arg(default = 3)]
    days: u8,
}

fn days<'de, D: mcp_runtime::serde::Deserializer<'de>>(days: D) -> Result<u8, D::Error> {
    mcp_runtime::serde::Deserialize::deserialize(days)
}

#[data]
struct Place {
    city: String,
}

#[data]
#[serde(transparent)]
struct City(#[arg(name = "city", default = "Paris")] String);

#[data(output)]
struct Booking {
    #[arg(default = 1)]
    number: u32,
}

#[data(input)]
#[serde(try_from = "String")]
struct Code(#[arg(length(3))] String);

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[data]
enum Way {
    #[arg(name = "rail")]
    Train,
}

fn main() {}
