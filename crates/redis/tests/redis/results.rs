//! Large results, which Redis drops when they expire.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{KeptResult, ResultStore};
use mcp_runtime_redis::RedisOptions;

use crate::support::RedisServer;

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn results_are_bounded_for_one_caller_and_for_all_and_expire_in_redis() {
    let redis = RedisServer::start();
    let limits = Limits::default().with(|limits| {
        (
            limits.results.max_bytes,
            limits.results.max_bytes_per_caller,
        ) = (30, 20);
    });
    let store = redis.connect_with(RedisOptions::new().limits(limits)).await;
    let long = Duration::from_mins(5);
    for (owner, bytes, expected) in [("a b", 17, true), ("a b", 0, false), ("b", 10, false)] {
        let result = KeptResult::new(owner, "", "x".repeat(bytes));
        let kept = store.keep(result.clone(), long).await.unwrap();
        assert_eq!(kept, expected, "{owner} {bytes}");
        if kept {
            let left = redis.tell(&["PTTL", &format!("{{mcp}}:result:{}", result.id)]);
            let left: u128 = left.trim().parse().unwrap();
            assert!((1..=long.as_millis()).contains(&left));
            // The call is repeated, as if the first reply had been lost.
            assert!(store.keep(result, long).await.unwrap());
        }
    }
    let bytes = redis.tell(&["HGET", "{mcp}:result-bytes", "all"]);
    assert_eq!(bytes.trim(), "20");
    assert_eq!(store.delete_all("a b").await.unwrap(), 1);
    let bytes = redis.tell(&["HGET", "{mcp}:result-bytes", "all"]);
    assert_eq!(bytes.trim(), "0");
}
