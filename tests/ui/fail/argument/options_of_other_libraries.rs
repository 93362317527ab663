use mcp_runtime::prelude::*;

#[tool]
fn add(
    #[arg(min = 1)] a: i64,
    #[arg(max_length = 3)] b: String,
    #[arg(regex = "^a")] c: String,
    #[arg(secs)] d: i64,
) -> String {
    format!("{a} {b} {c} {d}")
}

fn main() {}
