//! The rules that determine which calls become tasks.

use std::sync::{Arc, Mutex};

use mcp_runtime::middleware::{Call, Next};
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::wait::until;

use super::{
    Bench, LEGACY, MODERN, TASKS, client_of, connect, count, create, get, server, settled, text,
};
use crate::support;

// Covers: XTASK-01, TASK-01
#[tokio::test]
async fn tasks_are_declared_in_the_place_that_each_version_defines() {
    for version in Version::ALL {
        let (mut client, _) = connect(version).await;
        let offered = if version.is_modern() {
            client.ok("server/discover", json!({})).await
        } else {
            client.initialized.clone()
        };
        let offered = &offered["capabilities"];
        let core = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        let core = if version == LEGACY { core } else { Value::Null };
        assert_eq!(offered["tasks"], core, "{version:?}");
        let extension = if version == MODERN {
            json!({})
        } else {
            Value::Null
        };
        assert_eq!(offered["extensions"][TASKS], extension, "{version:?}");
        let (tools, _) = client.list("tools/list", "tools").await;
        for (tool, support) in [
            ("job", "optional"),
            ("strict_job", "required"),
            ("plain", ""),
        ] {
            let tool = tools.iter().find(|listed| listed["name"] == tool).unwrap();
            let expected = match support {
                "" => Value::Null,
                _ if version != LEGACY => Value::Null,
                support => json!({"taskSupport": support}),
            };
            assert_eq!(tool["execution"], expected, "{version:?}");
        }
    }
}

#[tokio::test]
async fn a_server_without_task_tools_declares_no_tasks() {
    for version in Version::ERAS {
        let server = mcp_runtime::new_server!().only(Selected::tag("extension"));
        let mut client = client_of(server, version).await;
        let code = -32601;
        client
            .fails("tasks/get", json!({"taskId": "a"}), code)
            .await;
        let params = json!({"name": "harvest", "task": {"ttl": 1}});
        let result = client.ok("tools/call", params).await;
        assert_eq!(text(&result), "tomatoes");
        assert_eq!(client.initialized["capabilities"]["tasks"], Value::Null);
    }
}

// Covers: XTASK-03, XTASK-14, TASK-03, TASK-04
#[tokio::test]
async fn a_task_is_there_before_its_call_is_answered() {
    for version in Version::ERAS {
        let (mut client, bench) = connect(version).await;
        let task = create(&mut client, "job", json!({"label": "x"})).await;
        let found = get(&mut client, &task).await;
        let (ttl, poll) = if version.is_modern() {
            ("ttlMs", "pollIntervalMs")
        } else {
            ("ttl", "pollInterval")
        };
        for task in [&task, &found] {
            assert_eq!((&task[ttl], &task[poll]), (&json!(600_000), &json!(3_000)));
            assert_eq!(task["status"], "working");
            let created = task["createdAt"].as_str().unwrap();
            assert!(created.ends_with('Z') && created.len() == 24, "{created}");
            for absent in [
                "result",
                "error",
                "inputRequests",
                "requestState",
                "cacheScope",
            ] {
                assert_eq!(task[absent], Value::Null, "{absent}");
            }
        }
        assert_eq!(found["taskId"], task["taskId"]);
        assert_eq!(task["taskId"].as_str().unwrap().len(), 32);
        bench.go_on.add_permits(1);
        assert_eq!(settled(&mut client, &task).await["status"], "completed");
    }
}

// Covers: XTASK-02, XTASK-08
#[tokio::test]
async fn a_modern_client_that_does_not_declare_tasks_gets_plain_calls() {
    let bench = Bench::default();
    let mut client = support::connect(server(&bench), MODERN).await;
    bench.go_on.add_permits(1);
    let params = json!({"name": "job", "task": {"ttl": 60_000}});
    let result = client.ok("tools/call", params).await;
    assert_eq!(text(&result), "done ");
    let needed = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    let params = json!({"name": "strict_job"});
    let refused = client.fails("tools/call", params, -32021).await;
    assert_eq!(refused.data, needed);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = client.fails(method, json!({}), -32021).await;
        assert_eq!(refused.data, needed);
    }
    for method in ["tasks/result", "tasks/list"] {
        client.fails(method, json!({"taskId": "a"}), -32601).await;
    }
}

// Covers: XTASK-02, XTASK-08
#[tokio::test]
async fn the_server_decides_for_a_modern_client_that_declares_tasks() {
    let (mut client, _) = connect(MODERN).await;
    let params = json!({"name": "plain", "task": {"ttl": 60_000}});
    assert_eq!(text(&client.ok("tools/call", params).await), "plain");
    create(&mut client, "strict_job", json!({})).await;
    for method in ["tasks/result", "tasks/list"] {
        client.fails(method, json!({"taskId": "a"}), -32601).await;
    }
}

// Covers: TASK-02
#[tokio::test]
async fn a_legacy_client_decides_about_tasks_unless_the_tool_does() {
    let (mut client, bench) = connect(LEGACY).await;
    bench.go_on.add_permits(1);
    assert_eq!(client.text("job", json!({})).await, "done ");
    for (name, task) in [("plain", json!({})), ("strict_job", Value::Null)] {
        let params = json!({"name": name, "task": task});
        client.fails("tools/call", params, -32601).await;
    }
    create(&mut client, "strict_job", json!({})).await;
    client
        .fails(
            "tasks/update",
            json!({"taskId": "a", "inputResponses": {}}),
            -32601,
        )
        .await;
}

// Covers: TASK-01
#[tokio::test]
async fn older_clients_get_plain_calls() {
    for version in [
        Version::V2024_11_05,
        Version::V2025_03_26,
        Version::V2025_06_18,
    ] {
        let (mut client, bench) = connect(version).await;
        bench.go_on.add_permits(1);
        let params = json!({"name": "job", "task": {"ttl": 60_000}});
        assert_eq!(text(&client.ok("tools/call", params).await), "done ");
        let params = json!({"name": "plain", "task": {}});
        assert_eq!(text(&client.ok("tools/call", params).await), "plain");
        assert!(
            client
                .refused("strict_job", json!({}))
                .await
                .contains("only as a task")
        );
        client
            .fails("tasks/get", json!({"taskId": "a"}), -32601)
            .await;
    }
}

// Covers: TASK-04
#[tokio::test]
async fn a_legacy_client_may_ask_for_a_time_to_live() {
    let (mut client, _) = connect(LEGACY).await;
    for (ttl, expected) in [
        (json!(60_000), 60_000),
        (json!(0), 1_000),
        (Value::Null, 600_000),
        (json!(u64::MAX), 86_400_000),
        (json!(1e300), 86_400_000),
    ] {
        let params = json!({"name": "job", "task": {"ttl": ttl}});
        let created = client.ok("tools/call", params).await;
        assert_eq!(created["task"]["ttl"], expected, "{ttl}");
    }
    for wrong in [
        json!(3),
        json!({"ttl": -1}),
        json!({"ttl": "1h"}),
        json!({"ttl": 1.5}),
    ] {
        let params = json!({"name": "job", "task": wrong});
        client.fails("tools/call", params, -32602).await;
    }
}

#[tokio::test]
async fn middleware_sees_the_call_of_a_task_and_not_its_polling() {
    for version in [LEGACY, MODERN] {
        let names = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&names);
        let bench = Bench::default();
        let server = server(&bench).middleware(move |call: Call, next: Next| {
            seen.lock().unwrap().push(call.name().to_owned());
            async move { next.run(call).await }
        });
        let mut client = client_of(server, version).await;
        let task = create(&mut client, "job_with_helper", json!({})).await;
        for _ in 0..3 {
            get(&mut client, &task).await;
        }
        until(async || count(&bench.started) == 1).await;
        let params = json!({"taskId": task["taskId"]});
        client.ok("tasks/cancel", params).await;
        assert_eq!(*names.lock().unwrap(), ["job_with_helper"]);
    }
}
