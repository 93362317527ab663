//! The text of structured results, and results of other types.

use mcp_runtime::prelude::*;
use mcp_runtime::types::CallToolResult;
use mcp_runtime::values::{Base64, HumanDuration};
use serde_json::{Value, json};
use tests::{Client, Version};

use super::server;
use crate::support::connect;

/// An expense.
#[data(output)]
struct Expense {
    id: u32,
    spent_on: &'static str,
    category: &'static str,
    amount: String,
    note: Option<&'static str>,
}

fn expenses(count: u32) -> Vec<Expense> {
    let expense = |id| Expense {
        id,
        spent_on: "2026-07-28",
        category: "food",
        amount: format!("{id}.50"),
        note: (id % 2 == 0).then_some("lunch"),
    };
    (1..=count).map(expense).collect()
}

/// Lists expenses, as JSON.
#[tool(tags("values"), text = "compact")]
fn as_json(count: u32) -> Json<Vec<Expense>> {
    Json(expenses(count))
}

/// Lists expenses, as a table.
#[tool(tags("values"), text = "table")]
async fn as_table(count: u32) -> Result<Json<Vec<Expense>>> {
    Ok(Json(expenses(count)))
}

/// Lists expenses, without text.
#[tool(tags("values"), text = "none", blocking)]
fn as_nothing(count: u32) -> Option<Json<Vec<Expense>>> {
    (count > 0).then(|| Json(expenses(count)))
}

/// Lists expenses, with a summary.
#[tool(tags("values"))]
async fn summed(count: u32) -> Result<(String, Json<Vec<Expense>>)> {
    Ok((format!("{count} expenses"), Json(expenses(count))))
}

/// Returns bytes.
#[tool(tags("values"))]
fn bytes() -> Base64 {
    Base64::from(b"hello".to_vec())
}

/// Returns a length of time.
#[tool(tags("values"))]
fn length() -> HumanDuration {
    std::time::Duration::from_mins(90).into()
}

/// Returns an id.
#[tool(tags("values"))]
fn id() -> uuid::Uuid {
    uuid::Uuid::from_u128(1)
}

/// Returns an amount.
#[tool(tags("values"))]
fn amount() -> rust_decimal::Decimal {
    rust_decimal::Decimal::new(1_250, 2)
}

/// Returns a point of time.
#[tool(tags("values"))]
fn now() -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::default()
}

/// Returns a date.
#[tool(tags("values"))]
async fn today() -> Result<jiff::civil::Date> {
    Ok(jiff::civil::date(2026, 7, 28))
}

/// Returns a URL.
#[tool(tags("values"))]
fn home() -> url::Url {
    url::Url::parse("https://example.com").unwrap()
}

/// Has structured content and a picture, without text.
#[tool(tags("values"))]
fn pictured() -> CallToolResult {
    let mut result = CallToolResult::new(vec![ContentBlock::image(b"x", "image/png")]);
    result.structured_content = Some(serde_json::value::to_raw_value(&1).unwrap());
    result
}

async fn call(client: &mut Client, tool: &str, count: u32) -> Value {
    let arguments = json!({ "count": count });
    let params = json!({"name": tool, "arguments": arguments});
    client.request("tools/call", params).await.unwrap()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

// Covers: TOOL-18
#[tokio::test]
async fn the_text_of_structured_results_is_as_chosen_in_every_version() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let json = call(&mut client, "as_json", 2).await;
        let table = call(&mut client, "as_table", 2).await;
        let nothing = call(&mut client, "as_nothing", 2).await;
        let none = call(&mut client, "as_nothing", 0).await;
        let summed = call(&mut client, "summed", 2).await;
        assert!(text(&json).starts_with(r#"[{"id":1,"#), "{json}");
        assert_eq!(
            text(&table),
            "|id|spent_on|category|amount|note|\n|-|-|-|-|-|\n\
             |1|2026-07-28|food|1.50||\n|2|2026-07-28|food|2.50|lunch|"
        );
        assert_eq!(text(&summed), "2 expenses");
        for other in [&table, &nothing, &summed] {
            assert_eq!(other["structuredContent"], json["structuredContent"]);
        }
        if version >= Version::V2025_06_18 {
            assert!(json["structuredContent"].is_object() || json["structuredContent"].is_array());
            assert_eq!(nothing["content"], json!([]));
            assert_eq!(none["content"], json!([]));
        } else {
            // These clients read only the text.
            assert_eq!(text(&nothing), text(&json));
            assert_eq!(text(&none), "null");
        }
        let pictured = call_without_arguments(&mut client, "pictured").await;
        assert_eq!(pictured["content"][1]["text"], "1");
    }
}

async fn call_without_arguments(client: &mut Client, tool: &str) -> Value {
    client
        .request("tools/call", json!({ "name": tool }))
        .await
        .unwrap()
}

#[tokio::test]
async fn types_of_other_crates_are_results() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, expected) in [
            ("bytes", "aGVsbG8="),
            ("length", "1h 30m"),
            ("id", "00000000-0000-0000-0000-000000000001"),
            ("amount", "12.50"),
            ("now", "1970-01-01T00:00:00Z"),
            ("today", "2026-07-28"),
            ("home", "https://example.com/"),
        ] {
            let result = call_without_arguments(&mut client, tool).await;
            assert_eq!(text(&result), expected, "{tool}");
        }
    }
}

/// docs/results.md says how many tokens a table saves, estimated as in `check`: one per four bytes.
#[tokio::test]
async fn the_token_counts_of_tables_in_the_guide_are_correct() {
    let mut client = connect(server(), Version::V2026_07_28).await;
    let json = call(&mut client, "as_json", 50).await;
    let table = call(&mut client, "as_table", 50).await;
    let tokens = |result: &Value| text(result).len().div_ceil(4);
    let says = format!(
        "50 rows of five columns are about {} tokens as JSON and {} as a table",
        tokens(&json),
        tokens(&table)
    );
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results.md");
    let page = std::fs::read_to_string(page).unwrap().replace('\n', " ");
    assert!(page.contains(&says), "{says}");
}
