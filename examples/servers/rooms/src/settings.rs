//! Settings from the environment.

use std::path::PathBuf;

use mcp_runtime::prelude::data;

/// The variables begin with `ROOMS_`.
#[data(input)]
pub struct Settings {
    /// JSON file with the rooms: `[{"name": "blue", "seats": 4}]`
    #[arg(default = "rooms.json")]
    pub rooms: PathBuf,
    /// File for bookings
    #[arg(default = "bookings.jsonl")]
    pub journal: PathBuf,
}
