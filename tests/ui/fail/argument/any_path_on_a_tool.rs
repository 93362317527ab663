use mcp_runtime::prelude::*;

#[tool]
fn show(#[arg(any_path)] path: String) -> String {
    path
}

fn main() {}
