//! An answer to a question is valid only for the arguments with which the question was asked.

use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::{Client, Version};

use super::server;
use crate::support::raw;

/// The person who agrees.
#[derive(Elicit)]
struct Payer {
    name: String,
}

/// Asks who pays, and then pays.
#[tool(tags("results"))]
async fn pay(ctx: Context, amount: u128, purpose: Option<String>) -> Result<String> {
    let Payer { name } = ctx.elicit("Who pays?").key("who").await?;
    Ok(format!(
        "{name} paid {amount} {}",
        purpose.unwrap_or_default()
    ))
}

/// Sends arguments as raw JSON text, because `Value` could not represent the numbers.
async fn call(client: &mut Client, id: i64, arguments: &str, more: &str) -> Value {
    let message = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": client.dress(json!({"name": "pay"})),
    });
    client.remember(&message);
    let params = format!("\"params\":{{\"arguments\":{arguments},{more}");
    let line = message.to_string().replacen("\"params\":{", &params, 1);
    client.line(&line).await;
    match client.response(&json!(id)).await {
        Ok(result) => result,
        Err(failure) => json!({"code": failure.code}),
    }
}

// Covers: MRTR-09
#[tokio::test]
async fn a_request_state_is_accepted_only_with_equal_numbers() {
    let mut client = raw(server(), Version::V2026_07_28);
    client.capabilities = json!({"elicitation": {}});
    let asked = r#"{"amount":10000000000000000000000,"purpose":"é/t"}"#;
    let first = call(&mut client, 1, asked, "").await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    let state = first["requestState"].as_str().unwrap();
    let answers = format!(
        r#""requestState":"{state}","inputResponses":{{"who":{{"action":"accept","content":{{"name":"Eve"}}}}}},"#
    );
    for (other, id) in [
        r#"{"amount":10000000000000000999999,"purpose":"é/t"}"#,
        r#"{"amount":10000000000000000000001,"purpose":"é/t"}"#,
        r#"{"amount":1e21,"purpose":"é/t"}"#,
        r#"{"amount":"10000000000000000000000","purpose":"é/t"}"#,
        r#"{"amount":10000000000000000000000,"purpose":"e/t"}"#,
        r#"{"amount":10000000000000000000000}"#,
    ]
    .iter()
    .zip(10..)
    {
        let refused = call(&mut client, id, other, &answers).await;
        assert_eq!(refused["code"], -32602, "{other}: {refused}");
    }
    let paid = "Eve paid 10000000000000000000000 é/t";
    for (same, id) in [
        asked,
        r#"{ "purpose": "\u00e9\/t", "amount": 10000000000000000000000 }"#,
        r#"{"\u0061mount":10000000000000000000000,"purpose":"\u00E9/t"}"#,
    ]
    .iter()
    .zip(20..)
    {
        let result = call(&mut client, id, same, &answers).await;
        assert_eq!(result["content"][0]["text"], paid, "{same}: {result}");
    }
}
