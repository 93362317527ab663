use mcp_runtime::prelude::*;

#[tool]
fn delete(id: axum::http::Uri) -> String {
    id.to_string()
}

#[data]
struct Request {
    id: axum::http::Uri,
}

fn main() {}
