use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(example = std::f64::consts::PI)] a: f64) -> String {
    a.to_string()
}

fn main() {}
