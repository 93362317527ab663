//! Tasks and other extensions, none of which this server supports: a request that uses one is served as if it did not.

use serde_json::{Value, json};
use tests::{Client, Version};

use crate::fixture;
use crate::support::{client, raw};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Connects a client that declares all task capabilities of every protocol version.
async fn tasking(version: Version) -> Client {
    let mut client = raw(fixture::server(), version);
    client.capabilities = json!({
        "tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}},
        "extensions": {TASKS: {}, "com.example/unknown": {"setting": [1]}},
    });
    client.connect().await
}

// Covers: TASK-01, XTASK-02
#[tokio::test]
async fn a_call_that_asks_for_a_task_runs_normally() {
    for version in Version::ALL {
        for mut client in [client(version).await, tasking(version).await] {
            for task in [json!({}), json!({"ttl": 60_000}), json!(null), json!("x")] {
                let params =
                    json!({"name": "add", "arguments": {"a": 1, "b": 2}, "task": task.clone()});
                // The client uses the schema of the protocol version to check that the result is an ordinary one.
                let result = client.ok("tools/call", params).await;
                assert_eq!(result["content"][0]["text"], "3", "{version:?} {task}");
                assert_eq!(result.get("task"), None, "{version:?} {task}");
                if version.is_modern() {
                    assert_eq!(result["resultType"], "complete", "{task}");
                }
                // Nor is it treated as an error by the caller.
                let params = json!({"name": "add", "arguments": {"a": 1}, "task": task.clone()});
                let result = client.ok("tools/call", params).await;
                assert_eq!(result["isError"], true, "{version:?} {task}");
            }
            assert_eq!(client.drain().await, Vec::<Value>::new());
        }
    }
}

// Covers: TASK-01, XTASK-01, LIFE-13, EXT-04, DISC-07
#[tokio::test]
async fn neither_tasks_nor_extensions_are_advertised() {
    for version in Version::ALL {
        for mut client in [client(version).await, tasking(version).await] {
            let offered = if version.is_modern() {
                client.ok("server/discover", json!({})).await["capabilities"].clone()
            } else {
                client.initialized["capabilities"].clone()
            };
            assert!(offered["tools"].is_object(), "{offered}");
            assert_eq!(offered.get("tasks"), None, "{version:?}");
            assert_eq!(offered.get("extensions"), None, "{version:?}");
            let (tools, _) = client.list("tools/list", "tools").await;
            for tool in tools {
                assert_eq!(tool.get("execution"), None, "{version:?}: {tool}");
            }
        }
    }
}

// Covers: EXT-06, BASE-07
#[tokio::test]
async fn methods_of_extensions_do_not_exist() {
    for version in Version::ALL {
        let mut client = tasking(version).await;
        for method in [
            "tasks/get",
            "tasks/result",
            "tasks/list",
            "tasks/cancel",
            "tasks/update",
            "skills/list",
            "skills/get",
            "resources/directory/read",
        ] {
            let params = json!({"taskId": "t", "uri": "test://static"});
            client.fails(method, params, -32601).await;
        }
    }
}

// Covers: EXT-03, DISC-07
#[tokio::test]
async fn declared_but_unknown_extensions_do_not_change_results() {
    for version in Version::ALL {
        let (mut plain, mut declaring) = (client(version).await, tasking(version).await);
        assert_eq!(plain.initialized, declaring.initialized);
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "structured"})),
            ("tools/call", json!({"name": "contents"})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "prompt_contents"})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "test://several"})),
        ] {
            assert_eq!(
                plain.ok(method, params.clone()).await,
                declaring.ok(method, params).await,
                "{method} {version:?}"
            );
        }
    }
}
