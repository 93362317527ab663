//! Data sent to and by clients appears in no log and in no span, at any level.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::http::Request;
use tests::{Answer, Version};

use crate::http::support::{call, serve_server};
use crate::support::raw;
use crate::telemetry::capture::Seen;

const SECRET: &str = "hunter2-do-not-tell";

/// Takes a secret, asks for another, and answers with a third.
#[tool(tags("secrets"))]
async fn confide(ctx: &Context, password: String) -> Result<String> {
    #[derive(Elicit)]
    struct Pin {
        pin: String,
    }
    let done = ctx.once("note", async || Ok(password.clone())).await?;
    let Pin { pin } = ctx.elicit("Your PIN?").await?;
    Ok(format!("{done} {pin} result-{SECRET}"))
}

/// Takes a number, so that a text does not fit.
#[tool(tags("secrets"))]
fn number(#[arg(range(0..=9))] pin: u32) -> u32 {
    pin
}

fn server() -> Server {
    crate::fixture::server().only(Selected::tag("secrets"))
}

#[tokio::test]
async fn no_message_contents_are_logged() {
    let (seen, _guard) = Seen::begin();
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let mut client = raw(server(), version);
        client.capabilities = json!({"elicitation": {}});
        client
            .meta
            .insert("com.example/token".into(), json!(SECRET));
        let mut client = client.connect().await;
        // The first answers are invalid.
        let mut answers = vec![
            json!({"pin": SECRET}),
            json!({"pin": {"of": SECRET}}),
            json!({SECRET: SECRET}),
        ];
        client.answer(move |_| Answer::accept(answers.pop().unwrap_or(json!({"pin": SECRET}))));
        let params = json!({"name": "confide", "arguments": {"password": SECRET}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert!(
            result["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains(SECRET)
        );
        // Invalid arguments, unknown names, unusable answers and unusable states.
        client.refused("number", json!({"pin": SECRET})).await;
        client.refused("number", json!({SECRET: 1, "pin": 1})).await;
        client
            .fails("tools/call", json!({"name": SECRET}), -32602)
            .await;
        let _ = client.request("prompts/get", json!({"name": SECRET})).await;
        let _ = client.request(SECRET, json!({})).await;
        let _ = client
            .request("tools/list", json!({"cursor": SECRET}))
            .await;
        let mut params = json!({"name": "confide", "arguments": {"password": SECRET}});
        params["requestState"] = json!(SECRET);
        params["inputResponses"] = json!({"x": {"action": "accept", "content": {"pin": SECRET}}});
        let _ = client.request("tools/call", params).await;
        client.notify(SECRET, json!({"x": SECRET})).await;
        client.line(&format!("{{\"{SECRET}\"")).await;
        client.pass().await;
    }
    let served = serve_server(server()).await;
    let session = served.session(Version::V2025_11_25).await;
    for request in [
        Request::tool("echo", json!({"text": SECRET})),
        call(
            &session,
            1,
            "echo",
            json!({"text": SECRET}),
            Version::V2025_11_25,
        ),
        call(
            SECRET,
            1,
            "echo",
            json!({"text": SECRET}),
            Version::V2025_11_25,
        ),
        Request::tool("number", json!({"pin": SECRET})).with("Mcp-Name", SECRET),
    ] {
        let request = request
            .header("Authorization", &format!("Bearer {SECRET}"))
            .header("Cookie", SECRET)
            .header("traceparent", SECRET);
        served.send(&request).await;
    }
    let text = seen.text();
    assert!(text.contains("tools/call confide") && text.contains("tools/call echo"));
    for secret in [SECRET, &*session] {
        let at = text.find(secret);
        let around = at.map(|at| &text[at.saturating_sub(300)..]);
        assert_eq!(around.map(|text| &text[..text.len().min(600)]), None);
    }
}
