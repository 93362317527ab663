//! Tasks that ask their clients questions.

use serde_json::{Value, json};
use tests::wait::until;
use tests::{Answer, Client, Version};

use super::{LEGACY, MODERN, accepted, answer, connect, count, create, get, settled, text};

fn keys(task: &Value) -> Vec<String> {
    let requests = task["inputRequests"].as_object();
    requests
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect()
}

/// Answers all questions of a task until it has ended.
async fn answered(client: &mut Client, task: &Value, seen: &mut Vec<String>) -> Value {
    loop {
        let task = settled(client, task).await;
        if task["status"] != "input_required" {
            return task;
        }
        for key in keys(&task) {
            assert!(!seen.contains(&key), "{key} is used again");
            answer(client, &task, json!({&*key: accepted(true)})).await;
            seen.push(key);
        }
    }
}

// Covers: XTASK-04, XTASK-06, XTASK-12
#[tokio::test]
async fn a_task_uses_each_input_request_key_once() {
    let (mut client, bench) = connect(MODERN).await;
    let task = create(&mut client, "deploy", json!({})).await;
    let asking = settled(&mut client, &task).await;
    assert_eq!(keys(&asking), ["sure"]);
    let question = &asking["inputRequests"]["sure"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Deploy plan 0?");
    // Answers to questions that nobody asked are ignored.
    answer(&mut client, &task, json!({"other": accepted(true)})).await;
    assert_eq!(get(&mut client, &task).await["status"], "input_required");
    // An answer that does not match the form makes the task ask again.
    answer(
        &mut client,
        &task,
        json!({"sure": {"action": "accept", "content": {"sure": 5}}}),
    )
    .await;
    let mut seen = vec!["sure".to_owned()];
    let ended = answered(&mut client, &task, &mut seen).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(
        text(&ended["result"]).starts_with("true true 0 "),
        "{ended}"
    );
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!((count(&bench.once), count(&bench.runs)), (1, 4));
    // An update to a task that has ended is acknowledged.
    answer(&mut client, &task, json!({"sure": accepted(true)})).await;
}

// Covers: XTASK-06
#[tokio::test]
async fn the_input_requests_of_a_task_can_be_answered_one_by_one() {
    let (mut client, _) = connect(MODERN).await;
    let task = create(&mut client, "ask_both", json!({})).await;
    let asking = settled(&mut client, &task).await;
    assert_eq!(keys(&asking), ["one", "other"]);
    answer(&mut client, &task, json!({"other": accepted(false)})).await;
    let asking = get(&mut client, &task).await;
    assert_eq!(
        (&asking["status"], keys(&asking)),
        (&json!("input_required"), vec!["one".into()])
    );
    // The first answer counts.
    answer(&mut client, &task, json!({"other": accepted(true)})).await;
    answer(&mut client, &task, json!({"one": accepted(true)})).await;
    let ended = settled(&mut client, &task).await;
    assert_eq!(text(&ended["result"]), "true false", "{ended}");
}

// Covers: XTASK-07
#[tokio::test]
async fn a_task_that_waits_for_input_can_be_cancelled() {
    for version in Version::ERAS {
        let (mut client, _) = connect(version).await;
        let task = create(&mut client, "deploy", json!({})).await;
        assert_eq!(
            settled(&mut client, &task).await["status"],
            "input_required"
        );
        client
            .ok("tasks/cancel", json!({"taskId": task["taskId"]}))
            .await;
        let task = get(&mut client, &task).await;
        assert_eq!(task["status"], "cancelled");
        assert_eq!(task["inputRequests"], Value::Null);
    }
}

// Covers: XTASK-13
#[tokio::test]
async fn a_handler_may_ask_before_it_becomes_a_task() {
    let (mut client, bench) = connect(MODERN).await;
    let params = json!({"name": "ask_first", "arguments": {}});
    let asking = client.ok("tools/call", params.clone()).await;
    assert_eq!(asking["resultType"], "input_required");
    assert_eq!(asking["taskId"], Value::Null);
    let mut retry = params;
    retry["requestState"] = asking["requestState"].clone();
    retry["inputResponses"] = json!({"sure": accepted(true)});
    let task = client.ok("tools/call", retry).await;
    assert_eq!(task["resultType"], "task", "{task}");
    assert_eq!(
        (&task["requestState"], &task["inputRequests"]),
        (&Value::Null, &Value::Null)
    );
    let ended = settled(&mut client, &task).await;
    assert_eq!(text(&ended["result"]), "true 0", "{ended}");
    assert_eq!(count(&bench.once), 1);
    // A call that never becomes a task remains a plain call.
    let result = client.tool("ask_first", json!({"at_once": true})).await;
    assert_eq!(text(&result), "at once");
}

#[tokio::test]
async fn steps_before_a_task_do_not_run_again_after_its_elicitation() {
    let (mut client, bench) = connect(MODERN).await;
    let task = create(&mut client, "pay_first", json!({})).await;
    let ended = answered(&mut client, &task, &mut Vec::new()).await;
    assert_eq!(text(&ended["result"]), "true 0", "{ended}");
    assert_eq!(count(&bench.once), 1);
}

#[tokio::test]
async fn a_call_becomes_a_task_only_after_the_work_that_must_run_once() {
    let (mut client, bench) = connect(MODERN).await;
    let params = json!({"name": "pay_meanwhile"});
    let call = client.start("tools/call", params).await;
    until(async || count(&bench.started) == 1).await;
    client.pass().await;
    assert!(!client.answered(&call));
    bench.go_on.add_permits(1);
    let task = client.response(&call).await.unwrap();
    assert_eq!(task["resultType"], "task", "{task}");
    let ended = settled(&mut client, &task).await;
    assert_eq!(text(&ended["result"]), "0", "{ended}");
    assert_eq!((count(&bench.started), count(&bench.once)), (1, 1));
    // Inside a `once` block, the call cannot become a task at all.
    assert_eq!(client.text("start_inside", json!({})).await, "once");
}

// Covers: TASK-08, TASK-09, TASK-10
#[tokio::test]
async fn a_legacy_client_gets_elicitations_while_it_waits_for_the_result() {
    let (mut client, bench) = connect(LEGACY).await;
    let task = create(&mut client, "deploy", json!({})).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    assert!(client.asked.is_empty());
    client.answer(|_| Answer::Result(accepted(true)));
    let params = json!({"taskId": task["taskId"]});
    let result = client.ok("tasks/result", params).await;
    assert!(text(&result).starts_with("true true 0 "), "{result}");
    assert_eq!(client.asked.len(), 2);
    let related = json!({"taskId": task["taskId"]});
    for question in &client.asked {
        assert_eq!(question.method, "elicitation/create");
        assert_eq!(
            question.params["_meta"]["io.modelcontextprotocol/related-task"],
            related
        );
    }
    assert_eq!((count(&bench.once), count(&bench.runs)), (1, 3));
    let told = client.drain().await;
    let told = told
        .iter()
        .filter(|told| told["method"] == "notifications/tasks/status");
    let told: Vec<_> = told.map(|told| &told["params"]).collect();
    assert!(!told.is_empty());
    for told in told {
        assert_eq!(
            (&told["taskId"], &told["_meta"]),
            (&task["taskId"], &Value::Null)
        );
    }
}

// Covers: TASK-09
#[tokio::test]
async fn a_legacy_client_may_refuse_to_answer() {
    for (refusal, expected) in [
        (Answer::decline(), "declined"),
        (Answer::Error(-32000, "no form here".into()), "no form here"),
    ] {
        let (mut client, _) = connect(LEGACY).await;
        let task = create(&mut client, "deploy", json!({})).await;
        client.answer(move |_| refusal.clone());
        let params = json!({"taskId": task["taskId"]});
        let result = client.ok("tasks/result", params).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains(expected), "{result}");
    }
}
