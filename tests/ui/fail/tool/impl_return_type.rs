use mcp_runtime::prelude::*;

#[tool]
fn add() -> impl std::fmt::Display {
    5
}

fn main() {}
