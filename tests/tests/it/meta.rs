//! `_meta` of requests and results, and the client's description of itself.

use mcp_runtime::Caller;
use mcp_runtime::dynamic::DynamicTool;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::CallToolResult;
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use crate::fixture;
use crate::support::{client, connect};

/// Sends a request with exactly these members of `_meta`, in addition to those required in a modern request.
async fn with_meta(client: &mut Client, method: &str, params: Value, meta: Value) -> Value {
    let mut params = client.dress(params);
    for (key, value) in meta.as_object().into_iter().flatten() {
        params["_meta"][key] = value.clone();
    }
    let request = json!({"jsonrpc": "2.0", "id": "meta", "method": method, "params": params});
    client.remember(&request);
    client.send(&request).await;
    client.response(&json!("meta")).await.unwrap()
}

// Covers: META-03
#[tokio::test]
async fn the_name_of_a_client_does_not_affect_access_or_results() {
    let server = || {
        let rule = |caller: &Caller| caller.has_scope("admin");
        let hidden = DynamicTool::new("hidden", json!({"type": "object"}), |_, _| async {
            "hidden"
        });
        let server = fixture::server();
        let handle = server.handle();
        handle.tools().insert(hidden.visible_if(rule)).unwrap();
        server
    };
    let names = [
        json!({"name": "tests", "version": "1"}),
        json!({"name": "claude-ai", "version": "0.1.0", "title": "Claude"}),
        json!({"name": "Visual Studio Code", "version": "1.104.0"}),
        json!({"name": "cursor-vscode", "version": "1.0.0"}),
        json!({"name": "mcp-runtime", "version": "0.1.0"}),
        json!({"name": "admin", "version": "trusted", "websiteUrl": "https://localhost"}),
        json!({"name": "", "version": ""}),
    ];
    for version in Version::ERAS {
        // Each has a separate server, with a caller that is not trusted.
        let mut seen: Option<Vec<Value>> = None;
        for name in &names {
            let hub = Hub::serve(server());
            let mut client = hub.client(version);
            let mut answers = Vec::new();
            let mut meta = json!({});
            if version.is_modern() {
                meta = json!({"io.modelcontextprotocol/clientInfo": name});
                answers
                    .push(with_meta(&mut client, "server/discover", json!({}), meta.clone()).await);
            } else {
                let mut params = json!({"protocolVersion": version.date(), "capabilities": {}});
                params["clientInfo"] = name.clone();
                answers.push(client.ok("initialize", params).await);
                client.notify("notifications/initialized", json!({})).await;
            }
            for (method, params) in [
                ("tools/list", json!({})),
                ("prompts/list", json!({})),
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("tools/call", json!({"name": "contents"})),
                ("tools/call", json!({"name": "structured_list"})),
                (
                    "tools/call",
                    json!({"name": "add", "arguments": {"a": "1", "b": null}}),
                ),
                ("prompts/get", json!({"name": "prompt_contents"})),
                ("resources/read", json!({"uri": "test://several"})),
            ] {
                answers.push(with_meta(&mut client, method, params, meta.clone()).await);
            }
            let listed = answers[1].to_string();
            assert!(
                listed.contains("\"add\"") && !listed.contains("\"hidden\""),
                "{listed}"
            );
            match &seen {
                None => seen = Some(answers),
                Some(seen) => assert_eq!(*seen, answers, "{name} in {version:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_handler_can_read_the_name_of_the_client() {
    for version in Version::ERAS {
        assert_eq!(client(version).await.text("who", json!({})).await, "tests");
    }
}

/// Returns the `_meta` of the call, and sets keys that are reserved for the server.
#[tool(tags("meta"))]
fn mirror(ctx: &Context) -> CallToolResult {
    let mut result = CallToolResult::default();
    let meta = result.meta.get_or_insert_default();
    let asked = ctx.meta().get("com.example/asked").cloned();
    meta.insert("com.example/answered".into(), asked.unwrap_or_default());
    for key in [
        "io.modelcontextprotocol/serverInfo",
        "io.modelcontextprotocol/subscriptionId",
        "dev.mcp/mine",
        "progressToken",
    ] {
        meta.insert(key.into(), json!({"name": "forged", "version": "0"}));
    }
    result
}

// Covers: META-07
#[tokio::test]
async fn a_handler_reads_and_sets_meta_except_reserved_keys() {
    for version in Version::ALL {
        let server = Server::new("meta", "1").only(Selected::tag("meta"));
        let mut client = connect(server, version).await;
        let meta = json!({"com.example/asked": {"deep": [1, null, "x"]}, "org.other/x": 1});
        let params = json!({"name": "mirror"});
        let result = with_meta(&mut client, "tools/call", params, meta).await;
        let given = &result["_meta"];
        assert_eq!(
            given["com.example/answered"],
            json!({"deep": [1, null, "x"]})
        );
        for key in ["io.modelcontextprotocol/subscriptionId", "dev.mcp/mine"] {
            assert_eq!(given.get(key), None, "{version:?}: {given}");
        }
        let identity = &given["io.modelcontextprotocol/serverInfo"]["name"];
        let expected = if version.is_modern() {
            json!("meta")
        } else {
            Value::Null
        };
        assert_eq!(*identity, expected, "{version:?}");
    }
}
