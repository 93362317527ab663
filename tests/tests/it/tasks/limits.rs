//! Limits on tasks.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::limits::TaskLimits;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Client, Version};

use super::{Bench, accepted, client_of, count, create, get, server, settled};

async fn limited(version: Version, change: impl FnOnce(&mut TaskLimits)) -> (Client, Bench) {
    let bench = Bench::default();
    let limits = Limits::default().with(|limits| change(&mut limits.tasks));
    let client = client_of(server(&bench).limits(limits), version).await;
    (client, bench)
}

/// Calls a tool that could be a task; returns the reason why it is not.
async fn refusal(client: &mut Client, name: &str, arguments: Value) -> String {
    let mut params = json!({"name": name, "arguments": arguments});
    if client.version() == super::LEGACY {
        params["task"] = json!({});
    }
    if client.version() == super::LEGACY {
        // The result of a tool would not be a valid answer to a request for a task.
        return client.fails("tools/call", params, -32603).await.message;
    }
    let result = client.ok("tools/call", params).await;
    assert_eq!(result["isError"], true, "{result}");
    super::text(&result).to_owned()
}

// Covers: TASK-11
// Limits: tasks.max_tasks, tasks.max_per_caller
#[tokio::test]
async fn the_number_of_tasks_is_limited() {
    for version in Version::ERAS {
        for (in_all, of_one, expected) in [(2, 9, "the server has"), (9, 2, "this caller has")] {
            let (mut client, _) = limited(version, |limits| {
                (limits.max_tasks, limits.max_per_caller) = (in_all, of_one);
            })
            .await;
            for _ in 0..2 {
                create(&mut client, "strict_job", json!({})).await;
            }
            let text = refusal(&mut client, "strict_job", json!({})).await;
            assert!(text.contains(expected), "{text}");
        }
    }
}

// Covers: TASK-11
// Limits: tasks.max_running
#[tokio::test]
async fn the_number_of_running_tasks_is_limited() {
    for version in Version::ERAS {
        let (mut client, bench) = limited(version, |limits| limits.max_running = 2).await;
        let mut tasks = Vec::new();
        for _ in 0..3 {
            tasks.push(create(&mut client, "job", json!({})).await);
        }
        until(async || count(&bench.started) == 2).await;
        client.pass().await;
        assert_eq!(get(&mut client, &tasks[2]).await["status"], "working");
        assert_eq!(count(&bench.started), 2);
        // A task that is waiting for its turn can be cancelled.
        client
            .ok("tasks/cancel", json!({"taskId": tasks[2]["taskId"]}))
            .await;
        bench.go_on.add_permits(2);
        for task in &tasks[..2] {
            assert_eq!(settled(&mut client, task).await["status"], "completed");
        }
        assert_eq!(count(&bench.started), 2);
    }
}

// Limits: tasks.max_bytes, tasks.max_bytes_per_caller
#[tokio::test]
async fn the_bytes_of_tasks_are_limited() {
    for version in Version::ERAS {
        for (in_all, of_one, expected) in [
            (4_000, 9_000, "the server has"),
            (9_000, 4_000, "this caller has"),
        ] {
            let (mut client, _) = limited(version, |limits| {
                (limits.max_bytes, limits.max_bytes_per_caller) = (in_all, of_one);
            })
            .await;
            let task = create(&mut client, "large", json!({"bytes": 5_000})).await;
            let ended = settled(&mut client, &task).await;
            assert_eq!(ended["status"], "failed");
            let message = ended["statusMessage"].as_str().unwrap();
            assert!(message.contains("too large to keep"), "{message}");
            // The process keeps a task's arguments, and `_meta` twice, until it has ended.
            let arguments = json!({"label": "x".repeat(5_000)});
            let text = refusal(&mut client, "job", arguments).await;
            assert!(text.contains(expected), "{text}");
            let large = json!("x".repeat(3_000));
            client.meta.insert("com.example/large".into(), large);
            let text = refusal(&mut client, "job", json!({})).await;
            assert!(text.contains(expected), "{text}");
        }
    }
}

// Limits: tasks.max_running
#[tokio::test]
async fn a_tool_with_concurrency_one_does_not_delay_tasks_of_other_tools() {
    for version in Version::ERAS {
        let (mut client, bench) = limited(version, |limits| limits.max_running = 2).await;
        let mut narrow = Vec::new();
        for _ in 0..3 {
            narrow.push(create(&mut client, "narrow_job", json!({})).await);
        }
        until(async || count(&bench.started) == 1).await;
        let other = create(&mut client, "strict_job", json!({})).await;
        assert_eq!(settled(&mut client, &other).await["status"], "completed");
        bench.go_on.add_permits(3);
        for task in &narrow {
            assert_eq!(settled(&mut client, task).await["status"], "completed");
        }
    }
}

#[tokio::test]
async fn plain_calls_do_not_wait_for_tasks_that_are_not_running() {
    for version in Version::ERAS {
        let bench = Bench::default();
        let limits = Limits::default().with(|limits| {
            limits.tasks.max_running = 1;
            limits.calls.max_waiting = 2;
        });
        let mut client = client_of(server(&bench).limits(limits), version).await;
        let running = create(&mut client, "job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        let mut waiting = Vec::new();
        for _ in 0..5 {
            waiting.push(create(&mut client, "narrow_job", json!({})).await);
        }
        client.pass().await;
        // The tool is available, even though five tasks are waiting to use it.
        if version.is_modern() {
            client.capabilities = json!({});
        }
        let plain = json!({"name": "narrow_job", "arguments": {}});
        let call = client.start("tools/call", plain).await;
        until(async || count(&bench.started) == 2).await;
        bench.go_on.add_permits(7);
        client.response(&call).await.unwrap();
        if version.is_modern() {
            client.capabilities = json!({"extensions": {super::TASKS: {}}});
        }
        for task in waiting.iter().chain([&running]) {
            assert_eq!(settled(&mut client, task).await["status"], "completed");
        }
    }
}

// Limits: tasks.max_state_bytes
#[tokio::test]
async fn the_state_of_a_task_between_elicitations_is_limited() {
    let (mut client, _) = limited(Version::V2026_07_28, |limits| {
        limits.max_state_bytes = 2_000;
    })
    .await;
    let task = create(&mut client, "deploy", json!({})).await;
    settled(&mut client, &task).await;
    let mut answer = accepted(true);
    answer["content"]["more"] = json!("x".repeat(3_000));
    let params = json!({"taskId": task["taskId"], "inputResponses": {"sure": answer}});
    client.fails("tasks/update", params, -32602).await;
    let (mut client, _) = limited(Version::V2025_11_25, |limits| limits.max_state_bytes = 50).await;
    let task = create(&mut client, "deploy", json!({})).await;
    let ended = settled(&mut client, &task).await;
    assert_eq!(ended["status"], "failed");
    let message = ended["statusMessage"].as_str().unwrap();
    assert!(message.contains("the maximum is 50"), "{message}");
}

/// A job without options.
#[tool(tags("task-times"), task)]
fn brief() {}

/// A job that is to be kept for years.
#[tool(tags("task-times"), task(ttl = "90000h"))]
fn lasting() {}

// Limits: tasks.ttl, tasks.max_ttl, tasks.poll_interval
#[tokio::test]
async fn the_ttl_and_poll_interval_of_a_task_follow_the_limits() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| {
            limits.tasks.ttl = Duration::from_secs(7);
            limits.tasks.max_ttl = Duration::from_secs(8);
            limits.tasks.poll_interval = Duration::from_secs(9);
        });
        let server = new_server!()
            .only(Selected::tag("task-times"))
            .limits(limits);
        let mut client = client_of(server, version).await;
        for (name, expected) in [("brief", 7_000), ("lasting", 8_000)] {
            let task = create(&mut client, name, json!({})).await;
            let times: (Value, Value) = if version.is_modern() {
                (task["ttlMs"].clone(), task["pollIntervalMs"].clone())
            } else {
                (task["ttl"].clone(), task["pollInterval"].clone())
            };
            assert_eq!(times, (json!(expected), json!(9_000)));
        }
    }
}
