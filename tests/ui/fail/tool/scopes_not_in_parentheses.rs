use mcp_runtime::prelude::*;

const READ: &str = "notes:read";

#[tool(scopes = ["notes:read"])]
fn read() -> String {
    String::new()
}

#[tool(scopes())]
fn look() -> String {
    String::new()
}

#[tool(scopes(READ, 5))]
fn listen() -> String {
    String::new()
}

fn main() {}
