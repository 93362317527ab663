use mcp_runtime::prelude::*;

#[derive(Debug)]
enum Problem {
    #[expose]
    NotFound,
    Database,
}

fn main() {}
