//! Results of `once` in calls that are not tasks.

use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::testing::TestClient;
use mcp_runtime_redis::RedisOptions;

use crate::support::RedisServer;

/// Pays, and says how often that was done.
#[tool]
async fn pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let pay = ctx.once("pay", async || Ok(paid.fetch_add(1, Ordering::Relaxed) + 1));
    pay.await
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn results_of_calls_that_are_no_tasks_are_kept_and_bounded() {
    let redis = RedisServer::start();
    let limits = Limits::default().with(|limits| limits.tasks.max_tasks = 2);
    let store = redis.connect_with(RedisOptions::new().limits(limits)).await;
    let server = new_server!().state(AtomicUsize::new(0)).once_store(store);
    let client = TestClient::modern(server).await;
    for expected in ["1", "2"] {
        let paid = client.call("pay", json!({})).await.unwrap();
        assert_eq!(paid.text(), expected);
    }
    let refused = client.call("pay", json!({})).await.unwrap();
    assert!(!refused.error_text().is_empty());
    let calls = redis.tell(&["ZRANGE", "{mcp}:calls", "0", "-1"]);
    let kept = calls.lines().map(|call| {
        let kept = redis.tell(&["HGET", &format!("{{mcp}}:call:{call}"), "pay"]);
        kept.trim().to_owned()
    });
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    assert_eq!(kept, ["11", "12"], "a mark that it is done, and the result");
    // Two names of three bytes each and two results of one byte each.
    let bytes = redis.tell(&["HGET", "{mcp}:bytes", "once"]);
    assert_eq!(bytes.trim(), "8");
    for call in calls.lines() {
        redis.tell(&["ZADD", "{mcp}:calls", "0", call]);
    }
    let paid = client.call("pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "3", "what has expired makes room");
    let bytes = redis.tell(&["HGET", "{mcp}:bytes", "once"]);
    assert_eq!(bytes.trim(), "4");
}
