use mcp_runtime::prelude::*;

#[tool(text = "tabel", cache = "Public")]
fn add() -> Json<u8> {
    Json(1)
}

#[prompt(icons = icon(src = "https://example.com/a.png", theme = "drak"))]
fn review() -> String {
    String::new()
}

#[derive(Elicit)]
struct Order {
    #[arg(format = "datetime")]
    at: String,
}

fn main() {}
