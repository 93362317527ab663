use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(header = "my region")] region: String, #[arg(header = "")] zone: String) -> String {
    format!("{region}{zone}")
}

fn main() {}
