//! Notifications about tasks in 2026-07-28.

use serde_json::{Value, json};
use tests::Client;
use tests::wait::until;

use super::other_process::{Process, shared_store};
use super::{MODERN, TASKS, accepted, answer, connect, count, create, get, server, settled};
use crate::support;

async fn listen(client: &mut Client, ids: Value) -> Value {
    let params = client.dress(json!({"notifications": {"taskIds": ids}}));
    let request =
        json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params});
    client.send(&request).await;
    let method = "notifications/subscriptions/acknowledged";
    client.notification(method).await["notifications"].clone()
}

// Covers: XTASK-10
#[tokio::test]
async fn a_task_notification_contains_the_whole_task() {
    let (mut client, _) = connect(MODERN).await;
    client
        .meta
        .insert("io.modelcontextprotocol/logLevel".into(), json!("debug"));
    client.meta.insert("progressToken".into(), json!("p"));
    let task = create(&mut client, "deploy", json!({})).await;
    let other = create(&mut client, "deploy", json!({})).await;
    let asking = settled(&mut client, &task).await;
    settled(&mut client, &other).await;
    let ids = json!([task["taskId"]]);
    assert_eq!(
        listen(&mut client, ids.clone()).await,
        json!({"taskIds": ids})
    );
    answer(&mut client, &other, json!({"sure": accepted(true)})).await;
    let first = asking["inputRequests"].as_object().unwrap();
    let first = first.keys().next().unwrap().clone();
    answer(&mut client, &task, json!({&*first: accepted(true)})).await;
    let mut last;
    loop {
        last = client.notification("notifications/tasks").await;
        assert_eq!(last["taskId"], task["taskId"]);
        assert_eq!(last["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
        assert_eq!(last["resultType"], Value::Null);
        if last["status"] == "input_required" {
            break;
        }
    }
    let found = get(&mut client, &task).await;
    assert_eq!(last["inputRequests"], found["inputRequests"]);
    let key = found["inputRequests"].as_object().unwrap();
    let key = key.keys().next().unwrap().clone();
    answer(&mut client, &task, json!({&*key: accepted(true)})).await;
    loop {
        last = client.notification("notifications/tasks").await;
        if last["status"] == "completed" {
            break;
        }
    }
    let found = get(&mut client, &task).await;
    assert_eq!(last["result"], found["result"]);
}

// Covers: XTASK-10
#[tokio::test]
async fn progress_becomes_the_message_of_the_task_and_nothing_else_is_sent() {
    let (mut client, bench) = connect(MODERN).await;
    client
        .meta
        .insert("io.modelcontextprotocol/logLevel".into(), json!("debug"));
    client.meta.insert("progressToken".into(), json!("p"));
    let task = create(&mut client, "job", json!({})).await;
    until(async || get(&mut client, &task).await["statusMessage"] == "sorting (1 of 3)").await;
    bench.go_on.add_permits(1);
    let ended = settled(&mut client, &task).await;
    assert_eq!(ended["statusMessage"], Value::Null);
    assert_eq!(count(&bench.started), 1);
    assert_eq!(client.drain().await, Vec::<Value>::new());
}

// Covers: XTASK-10
#[tokio::test]
async fn only_a_client_that_declares_tasks_can_listen_to_them() {
    let bench = super::Bench::default();
    let mut client = support::connect(server(&bench), MODERN).await;
    let params = json!({"notifications": {"taskIds": ["a"]}});
    let refused = client.fails("subscriptions/listen", params, -32021).await;
    let needed = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    assert_eq!(refused.data, needed);
}

/// Waits until a listener is notified that a task has a status. Returns the notification.
async fn told(client: &mut Client, status: &str) -> Value {
    loop {
        let told = client.notification("notifications/tasks").await;
        if told["status"] == status {
            return told;
        }
    }
}

// Covers: XTASK-10
#[tokio::test(start_paused = true)]
async fn a_listener_at_another_process_is_notified_of_task_changes() {
    let store = shared_store();
    let mut one = Process::start(&store, MODERN).await;
    let mut other = Process::start(&store, MODERN).await;
    let task = create(&mut one.client, "ask_later", json!({})).await;
    let foreign = json!("an unknown one");
    let ids = json!([task["taskId"], foreign]);
    let accepted_ids = listen(&mut other.client, ids).await;
    assert_eq!(accepted_ids["taskIds"].as_array().map(Vec::len), Some(2));
    told(&mut other.client, "working").await;
    one.bench.go_on.add_permits(1);
    let asking = told(&mut other.client, "input_required").await;
    assert!(asking["inputRequests"]["sure"].is_object(), "{asking}");
    answer(&mut one.client, &task, json!({"sure": accepted(true)})).await;
    told(&mut other.client, "working").await;
    one.bench.go_on.add_permits(1);
    other.bench.go_on.add_permits(1);
    let ended = told(&mut other.client, "completed").await;
    assert_eq!(super::text(&ended["result"]), "true", "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_the_process_itself_makes_is_reported_once() {
    let store = shared_store();
    let mut one = Process::start(&store, MODERN).await;
    let task = create(&mut one.client, "ask_later", json!({})).await;
    listen(&mut one.client, json!([task["taskId"]])).await;
    one.bench.go_on.add_permits(1);
    settled(&mut one.client, &task).await;
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let mut told = Vec::new();
    while told.last().is_none_or(|status| status != "input_required") {
        let task = one.client.notification("notifications/tasks").await;
        told.push(task["status"].as_str().unwrap().to_owned());
    }
    assert!(told.len() <= 2, "{told:?}");
    let params = json!({"taskId": task["taskId"]});
    one.client.ok("tasks/cancel", params).await;
    let last = one.client.notification("notifications/tasks").await;
    assert_eq!(last["status"], "cancelled");
}
