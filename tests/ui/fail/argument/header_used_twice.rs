use mcp_runtime::prelude::*;

#[tool]
fn add(#[arg(header = "Region")] region: String, #[arg(header = "region")] zone: String) -> String {
    format!("{region}{zone}")
}

fn main() {}
