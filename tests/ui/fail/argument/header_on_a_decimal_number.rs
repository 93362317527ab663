use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(header = "Weight")] weight: f64) -> String {
    weight.to_string()
}

fn main() {}
