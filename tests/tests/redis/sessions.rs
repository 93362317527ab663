//! Legacy sessions and their streams at several instances.

use serde_json::json;

use crate::instance::{Group, bare, echo, request, text};

// Covers: LHTTP-08
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_session_made_at_one_instance_is_used_and_ended_at_others() {
    let group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    let session = one.session().await;
    assert_eq!(text(&other.message(&echo(&session)).await.1), "still here");
    // It outlives the instance where it was made.
    one.kill().await;
    let third = group.instance().await;
    assert_eq!(text(&third.message(&echo(&session)).await.1), "still here");
    assert_eq!(other.send(&bare("DELETE", &session)).await.status, 204);
    assert_eq!(third.send(&echo(&session)).await.status, 404);
}

// Covers: LHTTP-12
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_broken_stream_resumes_at_another_instance_with_later_events() {
    let group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    let session = one.session().await;
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": 1}});
    let call = request(&session, "tools/call", &params);
    let mut stream = one.send(&call).await;
    let seen = loop {
        let event = stream.event().await.unwrap();
        if event.data.contains("notifications/progress") {
            break event.id.unwrap();
        }
    };
    drop(stream);
    let resume = bare("GET", &session)
        .header("Last-Event-ID", &seen)
        .answering("tools/call");
    let mut stream = other.send(&resume).await;
    assert_eq!(stream.status, 200);
    // The call is still running at the first instance.
    group.go_on();
    let rest = stream.all().await;
    let [progress, result] = &rest[..] else {
        panic!("{rest:?}")
    };
    assert_eq!(progress["params"]["progress"], 2.0, "{progress}");
    assert_eq!(text(result), "reported");
}
