//! Changes that one instance announces, for clients of others.

use serde_json::json;
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tokio::time::timeout;

use crate::instance::{Group, Instance, bare, request};

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
