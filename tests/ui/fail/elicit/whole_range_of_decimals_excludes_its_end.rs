use mcp_runtime::prelude::*;

#[derive(Elicit)]
struct Sample {
    #[arg(range(0..10))]
    part: f64,
    #[arg(exclusive_minimum = 0)]
    weight: Option<f32>,
    #[arg(range(..=300))]
    count: u8,
}

fn main() {}
