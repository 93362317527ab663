//! Prefixes of the names of tools and prompts.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;

/// Looks for a text.
#[tool(tags("prefixed"))]
fn find_text(text: &str) -> String {
    format!("{text} was found")
}

/// Asks for a summary.
#[prompt(tags("prefixed"))]
fn summarize(#[complete(["short", "long"])] style: &str) -> String {
    format!("Write a {style} summary.")
}

#[tokio::test]
async fn clients_use_names_with_their_prefixes() {
    let make = || {
        let server = new_server!().only(Selected::tag("prefixed"));
        server.prefix_names("notes_", [tool(find_text), prompt(summarize)])
    };
    for client in [
        TestClient::legacy(make()).await,
        TestClient::modern(make()).await,
    ] {
        assert_eq!(client.tools().await[0].name, "notes_find_text");
        assert_eq!(client.prompts().await[0].name, "notes_summarize");
        let found = client.call("notes_find_text", json!({"text": "tea"}));
        assert_eq!(found.await.unwrap().text(), "tea was found");
        let unprefixed = client.call("find_text", json!({"text": "tea"}));
        let error = unprefixed.await.unwrap_err();
        assert_eq!(error.message, "no tool `find_text`");
        let prompt = client.prompt("notes_summarize", json!({"style": "short"}));
        assert_eq!(prompt.await.unwrap().text(), "Write a short summary.");
        let styles = client.complete_prompt("notes_summarize", "style", "sh", json!({}));
        assert_eq!(styles.await.unwrap().values, ["short"]);
    }
}
