use mcp_runtime::prelude::*;

/// A sample.
#[derive(Elicit)]
struct Sample {
    #[arg(range(0.0..1.0))]
    part: f64,
    #[arg(exclusive_minimum = 0.0)]
    weight: f64,
    #[arg(range(0..10))]
    count: u8,
}

fn main() {}
