//! The ends of tasks: with results, with errors, by cancellation, and when their time to live has passed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::middleware::{Call, Next};
use serde_json::{Value, json};
use tests::Version;
use tests::wait::until;

use super::{
    Bench, LEGACY, MODERN, accepted, answer, client_of, connect, count, create, get, server,
    settled, text,
};

// Covers: XTASK-04, XTASK-05, TASK-05, TASK-07
#[tokio::test]
async fn tool_failures_and_errors_have_the_task_status_of_each_era() {
    for version in Version::ERAS {
        let (mut client, _) = connect(version).await;
        for (how, modern, legacy, code) in [
            ("well", "completed", "completed", 0),
            ("error", "completed", "failed", 0),
            ("protocol", "failed", "failed", -32602),
            ("panic", "failed", "failed", -32603),
        ] {
            let task = create(&mut client, "end", json!({"how": how})).await;
            let ended = settled(&mut client, &task).await;
            let status = if version.is_modern() { modern } else { legacy };
            assert_eq!(ended["status"], status, "{how} {version:?}");
            if code != 0 {
                assert!(ended["statusMessage"].is_string(), "{ended}");
            }
            let (result, error) = if version.is_modern() {
                (ended["result"].clone(), ended["error"].clone())
            } else {
                assert_eq!(
                    (&ended["result"], &ended["error"]),
                    (&Value::Null, &Value::Null)
                );
                let params = json!({"taskId": task["taskId"]});
                match client.request("tasks/result", params).await {
                    Ok(result) => (result, Value::Null),
                    Err(failure) => (Value::Null, json!({"code": failure.code})),
                }
            };
            assert_eq!(
                error["code"],
                if code == 0 { Value::Null } else { json!(code) }
            );
            if code == 0 {
                assert_eq!(result["isError"] == true, how == "error", "{result}");
                let expected = if how == "error" { "it went wrong" } else { how };
                assert_eq!(text(&result), expected);
                let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
                let expected = match version {
                    LEGACY => json!({"taskId": task["taskId"]}),
                    _ => Value::Null,
                };
                assert_eq!(*related, expected);
            }
        }
    }
}

#[tokio::test]
async fn middleware_that_panics_before_its_future_exists_fails_the_task() {
    for version in Version::ERAS {
        let panicking = |call: Call, next: Next| {
            assert_ne!(call.name(), "strict_job", "refused early");
            next.run(call)
        };
        let server = server(&Bench::default()).middleware(panicking);
        let mut client = client_of(server, version).await;
        let task = create(&mut client, "strict_job", json!({})).await;
        assert_eq!(settled(&mut client, &task).await["status"], "failed");
    }
}

#[tokio::test]
async fn invalid_arguments_are_the_result_of_the_task() {
    let (mut client, _) = connect(MODERN).await;
    let task = create(&mut client, "end", json!({})).await;
    let ended = settled(&mut client, &task).await;
    assert_eq!(
        (&ended["status"], &ended["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
}

// Covers: XTASK-07, TASK-05, TASK-07
#[tokio::test]
async fn a_cancelled_task_stays_cancelled() {
    for version in Version::ERAS {
        let (mut client, bench) = connect(version).await;
        let task = create(&mut client, "job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        let params = json!({"taskId": task["taskId"]});
        let cancelled = client.ok("tasks/cancel", params.clone()).await;
        if version.is_modern() {
            assert_eq!(cancelled["status"], Value::Null);
        } else {
            assert_eq!(cancelled["status"], "cancelled");
        }
        until(async || count(&bench.dropped) == 1).await;
        bench.go_on.add_permits(1);
        let task = get(&mut client, &task).await;
        assert_eq!(
            (&task["status"], &task["result"]),
            (&json!("cancelled"), &Value::Null)
        );
        // A second cancellation is an error in one protocol but not in the other.
        if version.is_modern() {
            client.ok("tasks/cancel", params).await;
        } else {
            client.fails("tasks/cancel", params.clone(), -32602).await;
            client.fails("tasks/result", params, -32602).await;
        }
    }
}

#[tokio::test]
async fn work_that_a_task_has_spawned_can_tell_if_the_task_was_cancelled() {
    for version in Version::ERAS {
        let (mut client, bench) = connect(version).await;
        let task = create(&mut client, "job_with_helper", json!({})).await;
        bench.go_on.add_permits(1);
        assert_eq!(settled(&mut client, &task).await["status"], "completed");
        let task = create(&mut client, "job_with_helper", json!({})).await;
        until(async || count(&bench.started) == 2).await;
        assert_eq!(count(&bench.dropped), 0);
        let params = json!({"taskId": task["taskId"]});
        client.ok("tasks/cancel", params).await;
        until(async || count(&bench.dropped) == 1).await;
    }
}

// Covers: XTASK-07
#[tokio::test]
async fn the_notification_that_cancels_requests_does_not_cancel_tasks() {
    let (mut client, bench) = connect(MODERN).await;
    let task = create(&mut client, "job", json!({})).await;
    client.cancel(&json!(1)).await;
    bench.go_on.add_permits(1);
    assert_eq!(settled(&mut client, &task).await["status"], "completed");
}

// Covers: XTASK-11, TASK-06, TASK-12
#[tokio::test(start_paused = true)]
async fn a_task_is_kept_until_its_time_to_live_ends_and_unknown_afterwards() {
    for version in Version::ERAS {
        let (mut client, bench) = connect(version).await;
        let running = create(&mut client, "job", json!({})).await;
        let finished = create(&mut client, "end", json!({"how": "well"})).await;
        settled(&mut client, &finished).await;
        tokio::time::advance(Duration::from_mins(9)).await;
        assert_eq!(get(&mut client, &running).await["status"], "working");
        assert_eq!(get(&mut client, &finished).await["status"], "completed");
        tokio::time::advance(Duration::from_mins(52)).await;
        until(async || count(&bench.dropped) == 1).await;
        let mut messages = Vec::new();
        for id in [
            &running["taskId"],
            &finished["taskId"],
            &json!("a"),
            &json!("ä".repeat(99)),
        ] {
            let failure = client
                .fails("tasks/get", json!({"taskId": id}), -32602)
                .await;
            messages.push((failure.message, failure.data));
            client
                .fails("tasks/cancel", json!({"taskId": id}), -32602)
                .await;
        }
        messages.dedup();
        assert_eq!(messages.len(), 1, "{messages:?}");
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_errors() {
    for version in Version::ERAS {
        let (mut client, _) = connect(version).await;
        for params in [json!({}), json!({"taskId": 1}), json!({"taskId": null})] {
            client.fails("tasks/get", params.clone(), -32602).await;
            client.fails("tasks/cancel", params, -32602).await;
        }
    }
    let (mut client, _) = connect(MODERN).await;
    let task = create(&mut client, "end", json!({"how": "well"})).await;
    for answers in [json!(null), json!([]), json!("a")] {
        let params = json!({"taskId": task["taskId"], "inputResponses": answers});
        client.fails("tasks/update", params, -32602).await;
    }
}

#[tokio::test]
async fn rounds_before_and_after_a_call_becomes_a_task_are_numbered_separately() {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rounds);
    let noting = move |call: Call, next: Next| {
        if call.name() == "pay_first" {
            seen.lock().unwrap().push(call.round());
        }
        next.run(call)
    };
    let server = server(&Bench::default()).middleware(noting);
    let mut client = client_of(server, MODERN).await;
    let task = create(&mut client, "pay_first", json!({})).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    answer(&mut client, &task, json!({"sure": accepted(true)})).await;
    assert_eq!(settled(&mut client, &task).await["status"], "completed");
    // It ran once in the call itself and twice in the task.
    assert_eq!(*rounds.lock().unwrap(), [1, 2, 3]);
}
