//! Redis is down, hangs, or is emptied, while clients of both eras make calls.

use std::time::{Duration, Instant};

use serde_json::json;

use rustix::process::Signal;
use tests::client::PATIENCE;
use tests::http::{Request, send};
use tests::wait::{for_seconds_of_the_system, until};
use tokio::time::timeout;

use crate::calls;
use crate::instance::{Group, Instance, LEGACY, echo, modern_echo, text};

/// Maximum time for everything to recover once Redis works again.
const RECOVERY: Duration = Duration::from_secs(2);

/// Checks that calls without a session go on, and those with one are refused without waiting for each other.
async fn refuses(instance: &Instance, session: &str) {
    // One at a time finds out whether Redis works again, and may take two seconds. In a queue, the last would wait for
    // two minutes, and the client gives up before.
    let all = (0..60).map(|_| {
        let (instance, request) = (instance.address(), echo(session));
        tokio::spawn(async move {
            let mut refused = send(instance, &request).await;
            let retry_after = refused.header("retry-after").is_some();
            (refused.status, retry_after, refused.text().await)
        })
    });
    for refused in all.collect::<Vec<_>>() {
        let (status, retry_after, told) = refused.await.unwrap();
        assert_eq!((status, retry_after), (503, true));
        assert!(
            !told.contains("edis"),
            "clients learn nothing of it: {told}"
        );
    }
    assert_eq!(
        text(&instance.message(&modern_echo()).await.1),
        "still here"
    );
}

/// Returns the status of the probe for readiness.
async fn readiness(instance: &Instance) -> u16 {
    let probe = Request::new("GET", LEGACY).to("/readyz");
    instance.send(&probe).await.status
}

/// Waits until sessions and readiness work again, which is soon after Redis does.
async fn recovers(instance: &Instance, session: &str) {
    let began = Instant::now();
    until_it_works(instance, session).await;
    until(async || readiness(instance).await == 200).await;
    assert!(began.elapsed() < RECOVERY, "{:?}", began.elapsed());
}

async fn until_it_works(instance: &Instance, session: &str) {
    until(async || instance.send(&echo(session)).await.status == 200).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn while_redis_is_down_only_sessions_are_refused() {
    let mut group = Group::start();
    let instance = group.instance().await;
    let session = instance.session().await;
    assert_eq!(readiness(&instance).await, 200);
    group.redis.kill();
    refuses(&instance, &session).await;
    until(async || readiness(&instance).await == 503).await;
    group.redis.start_again();
    recovers(&instance, &session).await;
    group.redis.signal(Signal::STOP);
    refuses(&instance, &session).await;
    until(async || readiness(&instance).await == 503).await;
    group.redis.signal(Signal::CONT);
    recovers(&instance, &session).await;
    group.redis.tell(&["CONFIG", "SET", "maxmemory", "1"]);
    until(async || readiness(&instance).await == 503).await;
    group.redis.tell(&["CONFIG", "SET", "maxmemory", "0"]);
    recovers(&instance, &session).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn after_redis_was_emptied_clients_begin_again() {
    let group = Group::start();
    let instance = group.instance().await;
    let session = instance.session().await;
    group.redis.tell(&["FLUSHALL"]);
    assert_eq!(instance.send(&echo(&session)).await.status, 404);
    let session = instance.session().await;
    assert_eq!(
        text(&instance.message(&echo(&session)).await.1),
        "still here"
    );
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn after_redis_was_emptied_answers_reach_the_instance_that_asked() {
    let group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    // An instance with a session registers, and does so again three seconds later.
    let first = one.session().await;
    one.message(&echo(&first)).await;
    until(async || group.redis.tell(&["ZCARD", "{mcp}:instances"]).trim() == "1").await;
    group.redis.tell(&["FLUSHALL"]);
    let session = one.session_of_client(&json!({"elicitation": {}})).await;
    let mut stream = one.send(&calls::call(&session, "ask")).await;
    let (question, _) = calls::until_method(&mut stream, "elicitation/create").await;
    let accepted = other.send(&calls::answer(&session, &question)).await;
    assert_eq!(accepted.status, 202);
    let answered = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    assert_eq!(text(&answered), "Hello, Ada!");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn an_instance_that_was_paused_does_not_report_redis_as_down() {
    let group = Group::start();
    let instance = group.instance().await;
    let session = instance.session().await;
    // The request waits for a reply of Redis when the instance is stopped, and the reply is there when it continues.
    group.redis.signal(Signal::STOP);
    let (address, request) = (instance.address(), echo(&session));
    let waiting = tokio::spawn(async move { send(address, &request).await.status });
    for_seconds_of_the_system(1).await;
    instance.signal(Signal::STOP);
    group.redis.signal(Signal::CONT);
    for_seconds_of_the_system(4).await;
    instance.signal(Signal::CONT);
    assert_eq!(waiting.await.unwrap(), 200);
}
