use mcp_runtime::prelude::*;

#[resource("config://app")]
async fn config() -> std::time::Duration {
    std::time::Duration::ZERO
}

fn main() {}
