//! Calls of older clients whose other messages reach another instance than the one where the call runs.

use serde_json::{Value, json};
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tests::wait::until;
use tokio::time::timeout;

use crate::instance::{Group, Instance, LEGACY, bare, request, text};

/// Starts a session of a client that answers questions.
async fn session(instance: &Instance) -> String {
    let capabilities = json!({"elicitation": {}});
    instance.session_of_client(&capabilities).await
}

pub(crate) fn call(session: &str, tool: &str) -> Request {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": 1}});
    request(session, "tools/call", &params)
}

/// Reads the stream until a message of this method. Returns it, with the id of its event.
pub(crate) async fn until_method(stream: &mut Response, method: &str) -> (Value, String) {
    loop {
        let event = timeout(PATIENCE, stream.event()).await;
        let event = event
            .expect("it is sent in time")
            .expect("the stream is open");
        let Ok(message) = serde_json::from_str::<Value>(&event.data) else {
            continue;
        };
        if message["method"] == method {
            return (message, event.id.unwrap());
        }
    }
}

pub(crate) fn answer(session: &str, question: &Value) -> Request {
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    Request::legacy(session, &answer, LEGACY)
}

// Covers: REQ-02, CANC-01
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn answers_and_cancellations_reach_the_instance_where_the_call_runs() {
    let group = Group::start();
    let mut instances = [group.instance().await, group.instance().await];
    for _ in 0..2 {
        let [one, other] = &instances;
        let session = session(other).await;
        let mut stream = one.send(&call(&session, "ask")).await;
        let (question, _) = until_method(&mut stream, "elicitation/create").await;
        assert_eq!(other.send(&answer(&session, &question)).await.status, 202);
        let answered = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
        assert_eq!(text(&answered), "Hello, Ada!");

        let cancelled = group.done().len();
        let mut stream = one.send(&call(&session, "wait")).await;
        until_method(&mut stream, "notifications/progress").await;
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}
        });
        let cancel = Request::legacy(&session, &cancel, LEGACY);
        assert_eq!(other.send(&cancel).await.status, 202);
        until(async || group.done().len() > cancelled).await;
        assert_eq!(timeout(PATIENCE, stream.next()).await.unwrap(), None);
        instances.reverse();
    }
}

// Covers: REQ-02, LHTTP-12
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_call_whose_instance_was_killed_ends_with_an_error() {
    let group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    let session = session(&other).await;
    let mut stream = one.send(&call(&session, "ask")).await;
    let (question, seen) = until_method(&mut stream, "elicitation/create").await;
    drop(stream);
    one.kill().await;
    let resume = bare("GET", &session)
        .header("Last-Event-ID", &seen)
        .answering("tools/call");
    let mut stream = other.send(&resume).await;
    assert_eq!(stream.status, 200);
    let told = timeout(PATIENCE, stream.next()).await;
    let told = told.expect("it is told in time").expect("it is told");
    assert_eq!(
        (&told["id"], &told["error"]["code"]),
        (&json!(1), &json!(-32603))
    );
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("has ended"), "{message}");
    assert_eq!(stream.next().await, None);
    // Its answer comes too late.
    assert_eq!(other.send(&answer(&session, &question)).await.status, 400);
}

// Covers: LHTTP-12
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn instances_register_again_after_redis_was_emptied() {
    let group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    let before = session(&other).await;
    let mut asked = one.send(&call(&before, "ask")).await;
    until_method(&mut asked, "elicitation/create").await;
    group.redis.tell(&["FLUSHALL"]);
    let session = session(&other).await;
    let mut stream = one.send(&call(&session, "ask")).await;
    let (question, _) = until_method(&mut stream, "elicitation/create").await;
    // The instance is known again as soon as it receives.
    until(async || other.send(&answer(&session, &question)).await.status == 202).await;
    let answered = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    assert_eq!(text(&answered), "Hello, Ada!");
}
