//! Changes that one instance announces, for clients of others.

use serde_json::json;
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tests::wait::until;
use tokio::time::timeout;

use crate::instance::{Group, Instance, bare, request};
use rustix::process::Signal;

/// Says at an instance that a resource has changed.
async fn touch(instance: &Instance, uri: &str) {
    let request = Request::tool("touch", json!({"uri": uri}));
    let (status, message) = instance.message(&request).await;
    assert_eq!(status, 200, "{message}");
}

/// Reads the stream until it tells of a resource.
async fn until_told(stream: &mut Response, uri: &str) {
    loop {
        let told = timeout(PATIENCE, stream.next()).await;
        let told = told.expect("it is told").expect("the stream is open");
        if told["params"]["uri"] == uri {
            return;
        }
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn changes_reach_clients_of_other_instances_also_those_made_while_redis_was_down() {
    let mut group = Group::start();
    let (one, other) = (group.instance().await, group.instance().await);
    let uris = ["note://1", "note://2", "note://3"];
    // One instance has the session, and another one its stream.
    let session = one.session().await;
    for uri in uris {
        let follow = request(&session, "resources/subscribe", &json!({"uri": uri}));
        assert_eq!(one.message(&follow).await.0, 200);
    }
    let legacy = other.send(&bare("GET", &session)).await;
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let mut streams = [legacy, other.send(&listen).await];
    // Only the first can be told because an instance that has just begun tells of everything.
    for uri in &uris[..2] {
        touch(&one, uri).await;
        for stream in &mut streams {
            until_told(stream, uri).await;
        }
    }
    group.redis.kill();
    touch(&one, uris[2]).await;
    group.redis.start_again();
    for stream in &mut streams {
        until_told(stream, uris[2]).await;
    }
}

/// Reads what a stream tells, up to the update of a resource.
async fn told_until(stream: &mut Response, uri: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let told = timeout(PATIENCE, stream.next()).await;
        let told = told.expect("it is told").expect("the stream is open");
        let what = told["params"]["uri"].as_str();
        all.push(what.or(told["method"].as_str()).unwrap().to_owned());
        if what == Some(uri) {
            return all;
        }
    }
}

/// Waits until an instance receives what another one announces. Before that, it tells its clients of everything.
async fn until_it_receives(instance: &Instance, announcing: &Instance) {
    let uri = "note://99";
    let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let mut stream = instance.send(&listen).await;
    touch(announcing, uri).await;
    until_told(&mut stream, uri).await;
}

/// How a session's stream ends at its first instance.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Kill,
    Stop,
    Cut,
}

// Covers: LHTTP-08
#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_session_that_moves_is_notified_only_of_missed_changes() {
    for ending in [Ending::Kill, Ending::Stop, Ending::Cut] {
        let group = Group::start();
        let (first, announcing) = (group.instance().await, group.instance().await);
        let session = first.session().await;
        // An instance that has just begun tells of everything.
        let mut stream = first.send(&bare("GET", &session)).await;
        for number in 1..=4 {
            let uri = json!({"uri": format!("note://{number}")});
            let follow = request(&session, "resources/subscribe", &uri);
            assert_eq!(first.message(&follow).await.0, 200);
        }
        touch(&announcing, "note://1").await;
        let seen = loop {
            let event = timeout(PATIENCE, stream.event()).await.unwrap().unwrap();
            if event.data.contains("note://1") {
                break event.id.unwrap();
            }
        };
        match ending {
            Ending::Kill => first.kill().await,
            Ending::Stop => {
                first.signal(Signal::TERM);
                until(async || stream.next().await.is_none()).await;
            }
            Ending::Cut => drop(stream),
        }
        touch(&announcing, "note://2").await;
        let next = group.instance().await;
        until_it_receives(&next, &announcing).await;
        let resume = bare("GET", &session).header("Last-Event-ID", &seen);
        let mut stream = next.send(&resume).await;
        assert_eq!(stream.status, 200);
        touch(&announcing, "note://3").await;
        let mut told = told_until(&mut stream, "note://2").await;
        if !told.contains(&"note://3".to_owned()) {
            told.extend(told_until(&mut stream, "note://3").await);
        }
        let wrong = told
            .iter()
            .filter(|told| told.ends_with("list_changed") || *told == "note://4");
        assert_eq!(wrong.count(), 0, "{ending:?}: {told:?}");
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_session_that_moves_to_another_build_gets_list_changed() {
    let group = Group::start();
    let first = group.instance().await;
    let session = first.session().await;
    let opened = first.send(&bare("GET", &session)).await;
    drop(opened);
    let next = group.next_instance().await;
    until_it_receives(&next, &first).await;
    let mut stream = next.send(&bare("GET", &session)).await;
    let told = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    let method = told["method"].as_str().unwrap_or_default();
    assert!(method.ends_with("list_changed"), "{told}");
}
