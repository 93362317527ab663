//! Results that are too large to send: their first part, the rest, and who can read it.

mod callers;
mod kept;
mod parts;
mod tasks;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::ContentBlock;
use serde_json::{Value, json};
use tests::{Client, Version};

/// A row of a report.
#[data(output)]
struct Row {
    id: usize,
    name: String,
    note: Option<String>,
}

fn rows(count: usize) -> Vec<Row> {
    let row = |id| Row {
        id,
        name: format!("\"row\"\n{id}"),
        note: (id % 2 == 0).then(|| "é".repeat(id % 9)),
    };
    (0..count).map(row).collect()
}

/// Reports rows.
#[tool(tags("spill"), max_output = "1k tokens", spill)]
fn report(count: usize) -> Json<Vec<Row>> {
    Json(rows(count))
}

/// A report with a summary.
#[data(output)]
struct Report {
    title: String,
    rows: Vec<Row>,
    tags: Vec<String>,
}

/// Reports rows as a table.
#[tool(tags("spill"), max_output = "4KB", spill, text = "table")]
fn table(count: usize) -> Json<Report> {
    Json(Report {
        title: "All rows".into(),
        rows: rows(count),
        tags: vec!["a".into()],
    })
}

/// Writes lines.
#[tool(tags("spill"), max_output = "4KB", spill)]
fn lines(count: usize) -> String {
    (0..count)
        .map(|line| format!("line {line}: 🦀\r\n"))
        .collect()
}

/// Draws, and says what it has drawn.
#[tool(tags("spill"), max_output = "4KB", spill)]
fn draw(words: usize, pixels: usize) -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("first"),
        ContentBlock::image(vec![7_u8; pixels], "image/png"),
        ContentBlock::text("word ".repeat(words)),
    ]
}

fn server() -> Server {
    new_server!().only(Selected::tag("spill"))
}

/// Returns the id of a kept result from the directions for reading it.
fn id_of(result: &Value) -> String {
    let note = result["content"][1]["text"].as_str().unwrap_or_default();
    let (_, rest) = note
        .split_once("{\"result_id\":\"")
        .unwrap_or_else(|| panic!("no directions in {result}"));
    rest.split('"').next().unwrap().to_owned()
}

fn text(result: &Value, block: usize) -> &str {
    result["content"][block]["text"].as_str().unwrap()
}

/// Reads a part of a result.
async fn read(client: &mut Client, id: &str, mut arguments: Value) -> Value {
    arguments["result_id"] = id.into();
    client.tool("read_result", arguments).await
}

/// Reads a whole result as a resource.
async fn whole(client: &mut Client, id: &str) -> Value {
    let params = json!({"uri": format!("mcp-result:///{id}")});
    client.ok("resources/read", params).await["contents"][0].clone()
}

fn has_structured_content(version: Version) -> bool {
    !matches!(version, Version::V2024_11_05 | Version::V2025_03_26)
}
