use mcp_runtime::prelude::*;

use std::time::Duration;

struct City;

#[tool(titel = "Add")]
fn add(#[arg(rang(1..=5))] a: i64, (b, c): (i64, i64), d: &mut String) -> String {
    d.push_str(&(a + b + c).to_string());
    String::new()
}

#[tool(name = "a b")]
fn visit(city: City, #[arg(range(1..=5))] name: String) -> Duration {
    let _ = (city, name);
    Duration::ZERO
}

fn main() {}
