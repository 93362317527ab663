//! Two builds of a server with one Redis, as during a rolling update: each serves what the other has begun, or says why
//! it cannot.

use serde_json::{Value, json};
use tests::http::Request;
use tests::wait::until;

use crate::instance::{Group, Instance, bare, echo, request, text};
use crate::tasks::TaskClient;

/// Creates a call of a tool in a session.
fn call(session: &str, tool: &str, arguments: &Value) -> Request {
    let params = json!({"name": tool, "arguments": arguments});
    request(session, "tools/call", &params)
}

/// Returns the version of the build and the names of its tools.
async fn tools(instance: &Instance, session: &str) -> Vec<String> {
    let (_, list) = instance
        .message(&request(session, "tools/list", &json!({})))
        .await;
    let tools = list["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_session_goes_on_at_the_other_build_with_the_tools_of_that_build() {
    let group = Group::start();
    let (old, new) = (group.instance().await, group.next_instance().await);
    // In both directions, because a rolling update may be undone.
    for (one, other) in [(&old, &new), (&new, &old)] {
        let session = one.session().await;
        assert_eq!(text(&other.message(&echo(&session)).await.1), "still here");
        let has = async |instance, tool: &str| {
            tools(instance, &session)
                .await
                .iter()
                .any(|name| name == tool)
        };
        assert!(has(&old, "retired").await && !has(&new, "retired").await);
        assert!(has(&new, "added").await && !has(&old, "added").await);
        // A client that knows the list of one build is told what the other one needs.
        let greeting = call(&session, "greet", &json!({"name": "Ada"}));
        assert_eq!(text(&old.message(&greeting).await.1), "Ada!");
        let (_, refused) = new.message(&greeting).await;
        assert!(refused.to_string().contains("language"), "{refused}");
        let (_, unknown) = old.message(&call(&session, "added", &json!({}))).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        assert!(unknown.to_string().contains("added"), "{unknown}");
        assert_eq!(other.send(&bare("DELETE", &session)).await.status, 204);
        assert_eq!(one.send(&echo(&session)).await.status, 404);
    }
}

/// Starts a task at one instance, kills the instance once the task runs, and returns the task when it has ended at the
/// other instance.
async fn hand_over(
    group: &Group,
    one: Instance,
    other: &Instance,
    tool: &str,
    arguments: &Value,
) -> Value {
    let client = TaskClient::Modern;
    let params = json!({"name": tool, "arguments": arguments});
    let id = client.start_with(&one, params).await;
    until(async || {
        group
            .done()
            .last()
            .is_some_and(|step| step == tool || step == "between")
    })
    .await;
    one.kill().await;
    group.go_on();
    let is_over = async || client.status(other, &id).await != "working";
    until(is_over).await;
    client.ask(other, "tasks/get", json!({"taskId": id})).await
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_goes_on_at_the_other_build() {
    for is_update in [true, false] {
        let group = Group::start();
        let (old, new) = (group.instance().await, group.next_instance().await);
        let (one, other) = if is_update { (old, new) } else { (new, old) };
        let task = hand_over(&group, one, &other, "import", &json!({})).await;
        assert_eq!(task["status"], "completed", "{task}");
        let mut done = group.done();
        done.retain(|step| step != "between");
        assert_eq!(done, ["first", "second"]);
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_whose_tool_another_build_lacks_fails_with_a_reason() {
    for (is_update, tool) in [(true, "retired"), (false, "added")] {
        let group = Group::start();
        let (old, new) = (group.instance().await, group.next_instance().await);
        let (one, other) = if is_update { (old, new) } else { (new, old) };
        let task = hand_over(&group, one, &other, tool, &json!({})).await;
        assert_eq!(task["status"], "failed", "{task}");
        let expected = format!("the tool `{tool}` no longer exists");
        assert!(task.to_string().contains(&expected), "{task}");
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_without_an_argument_that_another_build_needs_fails() {
    let group = Group::start();
    let (old, new) = (group.instance().await, group.next_instance().await);
    let task = hand_over(&group, old, &new, "greet_later", &json!({"name": "Ada"})).await;
    assert!(task.to_string().contains("language"), "{task}");
    assert!(!task.to_string().contains("Hello"), "{task}");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_session_in_an_unknown_format_is_refused_and_the_reason_logged() {
    let group = Group::start();
    let instance = group.instance().await;
    let session = instance.session().await;
    let key = format!("{{mcp}}:session:{session}");
    let written = "9 x\n{\"a future format\":1}\n";
    group.redis.tell(&["SET", &key, written]);
    assert_eq!(instance.send(&echo(&session)).await.status, 503);
    // A session that begins now works.
    let session = instance.session().await;
    assert_eq!(
        text(&instance.message(&echo(&session)).await.1),
        "still here"
    );
    until(async || instance.has_logged("another build may be using the same name")).await;
}
