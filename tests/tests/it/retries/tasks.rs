//! Calls with a key that become tasks.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Client, Version};

use super::{Shop, call, server, text};
use crate::support::raw;

const TASKS: &str = "io.modelcontextprotocol/tasks";

async fn task_client(shop: &Shop, version: Version) -> Client {
    let mut client = raw(server(shop), version);
    client.capabilities = json!({"extensions": {TASKS: {}}});
    client.connect().await
}

/// A call that asks for a task, if clients of this version do.
fn as_task(version: Version) -> Value {
    let mut params = call("place_as_task", 7);
    if !version.is_modern() {
        params["task"] = json!({});
    }
    params
}

fn task_id(result: &Value) -> &Value {
    match &result["taskId"] {
        Value::Null => &result["task"]["taskId"],
        id => id,
    }
}

#[tokio::test]
async fn a_repeat_of_a_call_that_became_a_task_gets_the_same_task() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let shop = Shop::new();
        let mut client = task_client(&shop, version).await;
        let task = client.ok("tools/call", as_task(version)).await;
        assert!(task_id(&task).is_string(), "{task}");
        let again = client.ok("tools/call", as_task(version)).await;
        assert_eq!(task_id(&again), task_id(&task));
        until(async || shop.orders() == 1).await;
        shop.let_one_go_on();
        let id = json!({"taskId": task_id(&task)});
        let ended = async || {
            let task = client.ok("tasks/get", id.clone()).await;
            task["status"] == "completed"
        };
        until(ended).await;
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn a_repeat_without_a_task_request_is_refused_if_the_first_is_a_task() {
    let shop = Shop::new();
    let mut client = task_client(&shop, Version::V2025_11_25).await;
    client.ok("tools/call", as_task(Version::V2025_11_25)).await;
    let refused = client
        .refused("place_as_task", json!({"order_id": 7}))
        .await;
    assert!(
        refused.contains("was served in a different form"),
        "{refused}"
    );
    // And the other way round.
    let shop = Shop::new();
    let mut client = task_client(&shop, Version::V2025_11_25).await;
    shop.let_one_go_on();
    client.text("place_as_task", json!({"order_id": 7})).await;
    let params = as_task(Version::V2025_11_25);
    client.fails("tools/call", params, -32603).await;
    assert_eq!(shop.orders(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_of_a_call_that_became_a_job_gets_the_same_job() {
    let shop = Shop::new();
    let patient = Limits::default().with(|all| {
        all.tasks.patience = Duration::from_secs(2);
    });
    let mut client = raw(server(&shop).limits(patient), Version::V2026_07_28);
    client.capabilities = json!({});
    let mut client = client.connect().await;
    let job = client.tool("place_as_task", json!({"order_id": 7})).await;
    assert!(text(&job).contains("job_status"), "{job}");
    let again = client.tool("place_as_task", json!({"order_id": 7})).await;
    assert_eq!(again, job);
    assert_eq!(shop.orders(), 1);
}
