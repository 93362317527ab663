//! Large results of tasks.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;

use super::{id_of, read, text, whole};
use crate::support::raw;

/// Exports lines.
#[tool(tags("spill-task"), task(ttl = "1h"), max_output = "4KB", spill)]
async fn export(ctx: &Context, count: usize) -> String {
    ctx.progress((1, 2));
    "a line\n".repeat(count)
}

#[tokio::test(start_paused = true)]
async fn the_large_result_of_a_task_is_kept_for_as_long_as_the_task() {
    let server = || new_server!().only(Selected::tag("spill-task"));
    let extension = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = raw(server(), Version::V2026_07_28);
    client.capabilities = extension;
    let mut client = client.connect().await;
    let call = json!({"name": "export", "arguments": {"count": 1_000}});
    let task = client.ok("tools/call", call.clone()).await;
    let id = json!({"taskId": task["taskId"]});
    let done = loop {
        let task = client.ok("tasks/get", id.clone()).await;
        if task["status"] == "completed" {
            break task["result"].clone();
        }
        tokio::time::advance(Duration::from_millis(100)).await;
    };
    let kept = ["kept for 1 hour", "kept for 59 minutes"];
    let is_as_long = kept.iter().any(|kept| text(&done, 1).contains(kept));
    assert!(is_as_long, "{done}");
    tokio::time::advance(Duration::from_mins(55)).await;
    let part = read(&mut client, &id_of(&done), json!({"offset": 999})).await;
    assert_eq!(text(&part, 0), "a line\n");
    whole(&mut client, &id_of(&done)).await;

    let mut client = raw(server(), Version::V2025_11_25).connect().await;
    let mut asked = call.clone();
    asked["task"] = json!({});
    let created = client.ok("tools/call", asked).await;
    let id = json!({"taskId": created["task"]["taskId"]});
    let done = client.ok("tasks/result", id).await;
    tokio::time::advance(Duration::from_mins(55)).await;
    whole(&mut client, &id_of(&done)).await;

    // A plain call of the same tool.
    let mut client = raw(server(), Version::V2025_11_25).connect().await;
    let done = client.ok("tools/call", call).await;
    assert!(text(&done, 1).contains("kept for 10 minutes"), "{done}");
    tokio::time::advance(Duration::from_mins(11)).await;
    client
        .refused("read_result", json!({"result_id": id_of(&done)}))
        .await;
}
