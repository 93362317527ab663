//! Settings from the environment.

use std::path::PathBuf;

use mcp_runtime::prelude::data;

/// The variables begin with `ROOMS_`.
#[data(input)]
pub struct Settings {
    /// JSON file with the rooms: `[{"name": "blue", "seats": 4}]`
    #[serde(default = "rooms")]
    pub rooms: PathBuf,
    /// File for bookings
    #[serde(default = "journal")]
    pub journal: PathBuf,
}

fn rooms() -> PathBuf {
    "rooms.json".into()
}

fn journal() -> PathBuf {
    "bookings.jsonl".into()
}
