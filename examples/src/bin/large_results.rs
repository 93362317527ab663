//! Results that are too large for a model: it gets the first part and reads as much of the rest as it needs.
//!
//! ```sh
//! cargo run -p examples --bin large_results -- call measurements days=30
//! ```

use mcp_runtime::prelude::*;

/// A measurement.
#[data(output)]
struct Measurement {
    /// Minutes since the beginning
    minute: u32,
    celsius: f64,
    station: String,
}

/// Lists temperatures from the last days, one for every ten minutes.
#[tool(read_only, max_output = "2k tokens", spill)]
fn measurements(#[arg(range(1..=365))] days: u32) -> Json<Vec<Measurement>> {
    let measurement = |number: u32| Measurement {
        minute: number * 10,
        celsius: f64::from(number % 144) / 10.0,
        station: "roof".to_owned(),
    };
    Json((0..days * 144).map(measurement).collect())
}

/// Prints the station's log.
#[tool(read_only, max_output = "8KB", spill)]
fn log(days: u32) -> String {
    let line = |day| format!("day {day}: the battery was full\n");
    (1..=days).map(line).collect()
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
