//! Sessions: capabilities that remain declared, notifications of the other era, and questions when a session ends.

use std::time::Duration;

use mcp_runtime::Context;
use mcp_runtime::dynamic::{Arguments, DynamicPrompt};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tokio::time::Instant;

use crate::fixture;
use crate::support::{connect, raw};

#[derive(Elicit)]
struct Name {
    name: String,
}

/// Asks, and waits for the answer.
#[tool(tags("sessions"))]
async fn ask_and_wait(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who are you?").await?;
    Ok(name)
}

// Covers: STDIO-07, REQ-06
#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_an_answer_does_not_delay_the_end() {
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let server = fixture::server().only(Selected::tag("sessions"));
        let mut client = raw(server, version);
        client.capabilities = json!({"elicitation": {}});
        let mut client = client.connect().await;
        let id = client
            .start("tools/call", json!({"name": "ask_and_wait"}))
            .await;
        client.until_asked(1).await;
        let began = Instant::now();
        let rest = client.finish().await;
        assert!(began.elapsed() < Duration::from_secs(1));
        // The client can no longer answer; the handler gets an error that says so and returns it.
        let answer = rest.iter().find(|message| message["id"] == id).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
}

// Covers: BASE-10, LIFE-04
#[tokio::test]
async fn a_modern_notification_does_not_initialize_a_legacy_session() {
    let claim = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    for version in Version::LEGACY {
        let server = fixture::server();
        let handle = server.handle();
        let mut client = raw(server, version);
        let params = json!({
            "protocolVersion": version.date(),
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        });
        client.ok("initialize", params).await;
        let ready = "notifications/initialized";
        client.notify(ready, claim.clone()).await;
        handle.notify().tools_changed();
        // Once this is answered, all earlier notifications have been sent.
        client.pass().await;
        assert_eq!(client.drain().await, Vec::<Value>::new());
        client.notify(ready, json!({})).await;
        client
            .notification("notifications/tools/list_changed")
            .await;
    }
}

// Covers: COMP-01
#[tokio::test]
async fn the_completion_capability_stays_when_the_last_completer_is_removed() {
    let prompt = |name: &str| DynamicPrompt::new(name, async |_: Arguments, _: Context| "text");
    for version in Version::ALL {
        let server = Server::new("completing", "1").only([]);
        let handle = server.handle();
        let completing = prompt("greet")
            .optional("who", "")
            .candidates("who", ["Ada"]);
        handle.prompts().insert(completing).unwrap();
        let mut client = connect(server, version).await;
        client.pass().await;
        handle.prompts().remove("greet");
        handle.prompts().insert(prompt("plain")).unwrap();
        let params = json!({"ref": {"type": "ref/prompt", "name": "plain"}, "argument": {"name": "who", "value": ""}});
        client.fails("completion/complete", params, -32602).await;
        if version.is_modern() {
            let offered = client.ok("server/discover", json!({})).await;
            assert_eq!(offered["capabilities"]["completions"], json!({}));
        }
    }
}
