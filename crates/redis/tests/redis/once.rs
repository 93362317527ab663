//! Results of `once` in calls that are not tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::backend::{Backend, check_once_limits, few_once_entries};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use mcp_runtime_redis::RedisOptions;

use crate::support::RedisServer;

/// Pays, and says how often that was done.
#[tool(tags("once"))]
async fn pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let pay = ctx.once("pay", async || Ok(paid.fetch_add(1, Ordering::Relaxed) + 1));
    pay.await
}

/// Pays after a question.
#[tool(tags("once"))]
async fn ask_and_pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let Sure { sure: true } = ctx.elicit("Sure?").await? else {
        bail!("not sure");
    };
    pay(ctx, paid).await
}

#[derive(Elicit)]
struct Sure {
    sure: bool,
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn each_caller_has_a_share_of_the_entries_and_bytes() {
    let redis = RedisServer::start();
    let options = RedisOptions::new().limits(few_once_entries());
    check_once_limits(&redis.connect_with(options).await).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_steps_of_a_call_are_kept_only_if_its_client_can_continue_it() {
    let redis = RedisServer::start();
    let store = redis.connect_with(RedisOptions::new()).await;
    let server = new_server!()
        .only(Selected::tag("once"))
        .state(AtomicUsize::new(0))
        .backend(Backend::new().once(Arc::new(store)));
    let client = TestClient::modern(server).await;
    let paid = client.call("pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "1");
    let forgotten = async {
        while !redis
            .tell(&["ZRANGE", "{mcp}:once", "0", "-1"])
            .trim()
            .is_empty()
        {
            tokio::task::yield_now().await;
        }
    };
    let forgotten = tokio::time::timeout(Duration::from_mins(1), forgotten).await;
    forgotten.expect("the steps of a call without questions are forgotten at its end");
    client.answer(Sure { sure: true });
    let paid = client.call("ask_and_pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "2");
    let used = |field: &str| {
        let used = redis.tell(&["HGET", "{mcp}:once-usage", field]);
        used.trim().to_owned()
    };
    assert_eq!(used("entries step"), "1");
    assert_eq!(used("entries step of trusted"), "1");
    // A name of three bytes and a result of one byte.
    assert_eq!(used("bytes step of trusted"), "4");
    let entries = redis.tell(&["ZRANGE", "{mcp}:once", "0", "-1"]);
    redis.tell(&["ZADD", "{mcp}:once", "0", entries.trim()]);
    let call = entries.split_whitespace().next().unwrap();
    redis.tell(&["DEL", &format!("{{mcp}}:once:{call}")]);
    // What has disappeared is no longer counted when the next step is claimed.
    client.answer(Sure { sure: true });
    let paid = client.call("ask_and_pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "3");
    assert_eq!(used("entries step of trusted"), "1");
    assert_eq!(used("bytes step"), "4");
}
