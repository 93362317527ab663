//! Rates and sealing keys that the instances of a server share.

use std::time::Duration;

use mcp_runtime::backend::{
    DefinitionStore as _, RateDecision, RateStore as _, RateToken, check_definition_store,
};
use mcp_runtime_redis::{Redis, RedisOptions};

use crate::support::RedisServer;

const HOUR: Duration = Duration::from_hours(1);

async fn take(store: &Redis, tokens: &[RateToken]) -> bool {
    store.take(tokens).await.unwrap() == RateDecision::Admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_bucket_of_two_instances_is_emptied_once() {
    let server = RedisServer::start();
    let (one, other) = (server.connect().await, server.connect().await);
    let token = RateToken::new("t", 100, HOUR);
    let calls = (0..300).map(|number| {
        let store = if number % 2 == 0 {
            one.clone()
        } else {
            other.clone()
        };
        let token = token.clone();
        tokio::spawn(async move { take(&store, &[token]).await })
    });
    let mut admitted = 0;
    for call in calls.collect::<Vec<_>>() {
        admitted += usize::from(call.await.unwrap());
    }
    assert_eq!(admitted, 100);
    // A bucket disappears once it is full.
    let expiry: i64 = server
        .tell(&["PTTL", "{mcp}:rate:t"])
        .trim()
        .parse()
        .unwrap();
    let full = i64::try_from((HOUR * 100).as_millis()).unwrap();
    assert!((full - 60_000..=full).contains(&expiry), "{expiry}");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn extreme_rates_are_counted() {
    let server = RedisServer::start();
    let store = server.connect().await;
    let fast = RateToken::new("fast", u32::MAX, Duration::ZERO);
    let slow = RateToken::new("slow", u32::MAX, Duration::MAX);
    for _ in 0..3 {
        assert!(take(&store, &[fast.clone(), slow.clone()]).await);
    }
    let single = RateToken::new("single", 1, Duration::MAX);
    assert!(take(&store, std::slice::from_ref(&single)).await);
    let RateDecision::Refused(wait) = store.take(std::slice::from_ref(&single)).await.unwrap()
    else {
        panic!("the bucket is empty");
    };
    assert!(
        wait <= single.refill && wait + HOUR > single.refill,
        "{wait:?}"
    );
}

/// Connects an instance that takes its sealing keys from Redis.
async fn instance(server: &RedisServer) -> Redis {
    server
        .connect_with(RedisOptions::new().sealing_keys(true))
        .await
}

fn keys(server: &RedisServer) -> Vec<String> {
    let keys = server.tell(&["ZRANGE", "{mcp}:sealing-keys", "0", "-1"]);
    keys.lines().map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_first_instance_makes_the_sealing_key_and_others_use_it() {
    let server = RedisServer::start();
    let (one, _other) = (instance(&server).await, instance(&server).await);
    let made = keys(&server);
    assert_eq!(made.len(), 1, "{made:?}");
    let (_, secret) = made[0].split_once(' ').unwrap();
    assert!(!format!("{one:?}").contains(secret));
    // Without the option, there are no keys in Redis.
    server.tell(&["FLUSHALL"]);
    let _third = server.connect().await;
    assert_eq!(server.tell(&["EXISTS", "{mcp}:sealing-keys"]).trim(), "0");
}

/// Asks for the keys as an instance that knows these ones, with periods in milliseconds.
fn ask(
    server: &RedisServer,
    [seals, waits, opens]: [u64; 3],
    own: &str,
    known: &[&str],
) -> Vec<String> {
    let script = concat!(
        include_str!("../../src/lua/common.lua"),
        include_str!("../../src/lua/sealing_keys.lua")
    );
    let periods = [seals, waits, opens].map(|period| period.to_string());
    let mut words = vec!["EVAL", script, "1", "{mcp}:"];
    words.extend(periods.iter().map(String::as_str));
    words.push(own);
    words.extend(known);
    let keys = server.tell(&words);
    keys.lines().map(str::to_owned).collect()
}

/// The texts of keys, without their times.
fn texts(keys: &[String]) -> Vec<&str> {
    let texts = keys.iter().map(|key| key.split_once(' ').unwrap().1);
    texts.collect()
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_sealing_key_opens_before_and_after_the_period_in_which_it_seals() {
    const LONG: u64 = 3_600_000;
    let server = RedisServer::start();
    let lasting = [LONG, LONG, LONG];
    assert_eq!(texts(&ask(&server, lasting, "a", &[])), ["a"]);
    assert_eq!(texts(&ask(&server, lasting, "b", &[])), ["a"]);
    server.until_next_millisecond();
    // The key is too old. Its successor does not seal yet.
    let both = ask(&server, [1, LONG, LONG], "c", &[]);
    assert_eq!(texts(&both), ["a", "c"]);
    server.until_next_millisecond();
    // Now it does.
    assert_eq!(texts(&ask(&server, [LONG, 1, LONG], "d", &[])), ["c", "a"]);
    // Keys that Redis has lost are put back by the first instance that asks.
    server.tell(&["FLUSHALL"]);
    let known: Vec<_> = both.iter().map(String::as_str).collect();
    assert_eq!(
        texts(&ask(&server, [LONG, 1, LONG], "e", &known)),
        ["c", "a"]
    );
    assert_eq!(keys(&server).len(), 2);
    // A key that can no longer open is dropped, and not put back.
    server.until_next_millisecond();
    server.until_next_millisecond();
    assert_eq!(texts(&ask(&server, [1, 0, 0], "f", &known)), ["f"]);
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_definition_store_follows_the_rules_and_holds_1000_definitions() {
    let server = RedisServer::start();
    let (one, other) = (server.connect().await, server.connect().await);
    check_definition_store(&one).await;
    for number in 0..1_000 {
        one.put("set", &number.to_string(), "{}").await.unwrap();
    }
    let refused = one.put("set", "another", "{}").await.unwrap_err();
    assert!(
        refused.to_string().contains("1,000 definitions"),
        "{refused}"
    );
    one.put("set", "999", "[]").await.unwrap();
    one.put("another", "1", "{}").await.unwrap();
    let stored = other.receive("set", None).await.unwrap().unwrap();
    assert_eq!(stored.records.len(), 1_000);
    assert!(stored.records.contains(&("999".into(), "[]".into())));
}
