use mcp_runtime::prelude::*;

#[tool]
fn draw(
    #[arg(exclusive_minimum = 0.0, range(0.0..=1.0))] twice: f64,
    #[arg(exclusive_minimum = 1.0, range(..=1.0))] empty: f64,
    #[arg(exclusive_minimum = 0.0, default = 0.0)] least: f64,
    #[arg(range(..1.0), default = 1.0)] most: f64,
    #[arg(exclusive_minimum)] bare: f64,
    #[arg(exclusive_minimum = "0")] text: f64,
    #[arg(gt = 0)] other: f64,
) -> String {
    format!("{twice}{empty}{least}{most}{bare}{text}{other}")
}

fn main() {}
