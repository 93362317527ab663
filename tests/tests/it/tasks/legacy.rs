//! Waiting for results and listing tasks in 2025-11-25.

use serde_json::json;
use tests::wait::until;

use super::{LEGACY, connect, count, create, text};

// Covers: TASK-05, TASK-08
#[tokio::test]
async fn a_result_request_waits_for_the_end_of_the_task() {
    let (mut client, bench) = connect(LEGACY).await;
    let task = create(&mut client, "job", json!({"label": "late"})).await;
    let params = json!({"taskId": task["taskId"]});
    let waiting = client.start("tasks/result", params.clone()).await;
    until(async || count(&bench.started) == 1).await;
    client.pass().await;
    assert!(!client.answered(&waiting));
    bench.go_on.add_permits(1);
    let result = client.response(&waiting).await.unwrap();
    assert_eq!(text(&result), "done late");
    let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task["taskId"]);
    // The result can be fetched again.
    assert_eq!(text(&client.ok("tasks/result", params).await), "done late");
}

// Covers: TASK-05
#[tokio::test]
async fn cancelling_a_task_ends_the_wait_for_its_result() {
    let (mut client, _) = connect(LEGACY).await;
    let task = create(&mut client, "job", json!({})).await;
    let params = json!({"taskId": task["taskId"]});
    let waiting = client.start("tasks/result", params.clone()).await;
    client.ok("tasks/cancel", params).await;
    assert_eq!(client.response(&waiting).await.unwrap_err().code, -32602);
}

// Covers: TASK-05, TASK-06
#[tokio::test]
async fn tasks_are_listed_in_pages_oldest_first() {
    let (mut client, _) = connect(LEGACY).await;
    let mut created = Vec::new();
    for _ in 0..103 {
        created.push(create(&mut client, "strict_job", json!({})).await["taskId"].clone());
    }
    let (listed, pages) = client.list("tasks/list", "tasks").await;
    let listed: Vec<_> = listed
        .into_iter()
        .map(|task| task["taskId"].clone())
        .collect();
    assert_eq!((listed, pages), (created, 2));
    for cursor in [json!("x"), json!("-1"), json!(5)] {
        client
            .fails("tasks/list", json!({"cursor": cursor}), -32602)
            .await;
    }
    for id in ["", "a", "../a"] {
        client
            .fails("tasks/result", json!({"taskId": id}), -32602)
            .await;
    }
}
