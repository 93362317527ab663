use mcp_runtime::prelude::*;

#[data(output)]
struct Row {
    id: u32,
}

#[tool(text = "table")]
fn plain() -> String {
    String::new()
}

#[tool(text = "none")]
async fn both() -> Result<(String, Json<Row>)> {
    Ok((String::new(), Json(Row { id: 1 })))
}

#[tool(text = "markdown")]
fn unknown() -> Json<Row> {
    Json(Row { id: 1 })
}

fn main() {}
