//! `testing::check`: the check of definitions as a line in the author's tests.

use std::future::IntoFuture as _;
use std::path::PathBuf;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::{Check, check};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Adds two integers.
#[tool(tags("checked"))]
fn add_up(
    /// The first number
    a: i64,
    /// The second number
    b: i64,
) -> i64 {
    a + b
}

#[tool(tags("bare"))]
fn bare() {}

/// Has a name that model APIs refuse.
#[tool(name = "dots.in.name", tags("refused"))]
fn dots_in_name() {}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema matters")]
struct Settings {
    url: String,
}

fn server(tags: &str) -> Server {
    Server::new("checked", "1").only(Selected::tag(tags))
}

/// Makes a check, and returns the message of its panic.
async fn failure(check: Check) -> String {
    let checked = tokio::spawn(check.into_future()).await;
    let panic = checked.unwrap_err().into_panic();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[tokio::test]
async fn definitions_without_problems_pass() {
    check(server("checked")).strict().await;
}

#[tokio::test]
async fn advice_fails_only_a_strict_check() {
    check(server("bare")).await;
    let text = failure(check(server("bare")).strict()).await;
    let advice = "advice: tool `bare`: has no description; write a doc comment";
    assert!(text.contains(advice), "{text}");
}

#[tokio::test]
async fn a_definition_that_a_model_refuses_fails() {
    let text = failure(check(server("refused"))).await;
    let refused = "refused: tool `dots.in.name`: some clients reject this name";
    assert!(text.contains(refused), "{text}");
}

#[tokio::test]
async fn a_check_needs_no_settings() {
    check(server("checked").env::<Settings>("TEST_OF_CHECK_")).await;
}

#[tokio::test]
async fn only_changes_that_break_clients_fail_the_surface_gate() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("checked-surface.json");
    let gate = || check(server("checked")).surface(&file);
    let _ = std::fs::remove_file(&file);
    let missing = failure(gate()).await;
    assert!(missing.contains("UPDATE_SURFACE=1"), "{missing}");
    let client = mcp_runtime::testing::TestClient::modern(server("checked")).await;
    let saved = client.surface().await;
    std::fs::write(&file, &saved).unwrap();
    gate().await;
    let mut older: serde_json::Value = serde_json::from_str(&saved).unwrap();
    older["tools"][0]["description"] = json!("Adds.");
    std::fs::write(&file, older.to_string()).unwrap();
    gate().await;
    older["tools"][0]["name"] = json!("sum");
    std::fs::write(&file, older.to_string()).unwrap();
    let text = failure(gate()).await;
    assert!(text.contains("breaking: tool `sum` was removed"), "{text}");
    assert!(text.contains("UPDATE_SURFACE=1"), "{text}");
}
