use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(range(1..=5))] name: String, #[arg(range(1..))] lent: &str) -> String {
    format!("{name}{lent}")
}

fn main() {}
