//! Tests for the limits on sessions and on the events in their streams, and for two instances.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{EventStore as _, MaybeReady, SessionRecord, SessionStore, StreamEntry};
use mcp_runtime::serde_json::{from_value, json};
use mcp_runtime_redis::{Redis, RedisOptions};

use crate::support::RedisServer;

const MINUTE: Duration = Duration::from_mins(1);

async fn done<T>(reply: MaybeReady<'_, T>) -> T {
    match reply {
        MaybeReady::Ready(result) => result.unwrap(),
        MaybeReady::Later(later) | MaybeReady::Bounded(later) => later.await.unwrap(),
    }
}

fn record(owner: Option<&str>, changes: u32) -> Arc<SessionRecord> {
    let mut record = json!({
        "changes": changes, "version": "2025-11-25", "level": "info", "ready": true,
        "lists": [true, true, true], "client": "{}", "uris": [],
    });
    if let Some(owner) = owner {
        record["owner"] = owner.into();
    }
    Arc::new(from_value(record).unwrap())
}

async fn load(store: &Redis, id: &str) -> Option<Arc<SessionRecord>> {
    done(SessionStore::load(store, id, Duration::ZERO)).await
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_longest_idle_session_is_evicted_but_none_in_use() {
    let redis = RedisServer::start();
    let limits = Limits::default().with(|limits| {
        let sessions = &mut limits.sessions;
        (sessions.max_sessions, sessions.max_per_principal) = (3, 2);
    });
    let store = redis.connect_with(RedisOptions::new().limits(limits)).await;
    let insert = async |id: &str, owner: &str, busy: &'static [&'static str]| {
        let in_use = move |id: &str| busy.contains(&id);
        let inserted = done(store.insert(id, record(Some(owner), 1), MINUTE, &in_use)).await;
        // Sessions are ordered by Redis's clock, in milliseconds.
        redis.until_next_millisecond();
        inserted
    };
    let is_there = async |id: &str| load(&store, id).await.is_some();
    assert!(insert("a1", "a", &[]).await);
    assert!(insert("a2", "a", &[]).await);
    // Each caller has its own limit, and there is also a limit for all callers.
    assert!(insert("a3", "a", &["a1"]).await);
    assert!(is_there("a1").await && !is_there("a2").await);
    assert!(!insert("a4", "a", &["a1", "a3"]).await);
    assert!(insert("b1", "b", &[]).await);
    assert!(insert("c1", "c", &["a1"]).await);
    assert!(!is_there("a3").await && is_there("b1").await);
    assert!(!insert("d1", "d", &["a1", "b1", "c1"]).await);
    // A session that was used is no longer the one that has been idle the longest.
    let used = done(SessionStore::load(&store, "a1", MINUTE * 2)).await;
    assert!(used.is_some());
    assert!(insert("d1", "d", &[]).await);
    assert!(is_there("a1").await && !is_there("b1").await);
    // A session without an owner is subject only to the limit for all callers.
    for id in ["n1", "n2", "n3"] {
        assert!(done(store.insert(id, record(None, 1), MINUTE * 3, &|_| false)).await);
        redis.until_next_millisecond();
    }
    assert_eq!(redis.tell(&["ZCARD", "{mcp}:sessions"]).trim(), "3");
    assert_eq!(redis.tell(&["ZCARD", "{mcp}:session-expiry"]).trim(), "3");
    assert_eq!(redis.tell(&["EXISTS", "{mcp}:sessions-of:1a"]).trim(), "0");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn sessions_unused_since_their_handshake_are_evicted_first() {
    let redis = RedisServer::start();
    let limits = Limits::default().with(|limits| limits.sessions.max_sessions = 3);
    let store = redis.connect_with(RedisOptions::new().limits(limits)).await;
    let is_used = async |id: &str| {
        let loaded = SessionStore::load(&store, id, Duration::from_hours(24));
        done(loaded).await.is_some()
    };
    for number in 0..20 {
        let id = format!("s{number}");
        assert!(done(store.insert(&id, record(None, 1), MINUTE, &|_| false)).await);
        redis.until_next_millisecond();
        if number < 2 {
            assert!(is_used(&id).await);
        }
    }
    assert!(is_used("s0").await && is_used("s1").await && is_used("s19").await);
    assert!(!is_used("s18").await);
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn an_instance_sees_newer_changes_of_another_and_cannot_overwrite_them() {
    let redis = RedisServer::start();
    let (one, other) = (redis.connect().await, redis.connect().await);
    assert!(done(one.insert("s", record(None, 1), MINUTE, &|_| false)).await);
    assert!(done(other.save("s", record(None, 2))).await);
    assert_eq!(load(&one, "s").await.unwrap().changes(), 2);
    assert!(!done(one.save("s", record(None, 2))).await);
    assert!(done(one.remove("s")).await);
    assert!(load(&other, "s").await.is_none());
    // The remaining data of a server that never returns disappears on its own.
    assert!(done(one.insert("s", record(Some("a"), 1), MINUTE, &|_| false)).await);
    done(one.append("s", 1, 0, StreamEntry::Opened, MINUTE)).await;
    for key in redis.tell(&["KEYS", "*"]).lines() {
        assert_ne!(redis.tell(&["PTTL", key]).trim(), "-1", "{key}");
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_events_of_a_stream_and_of_a_session_are_bounded() {
    let redis = RedisServer::start();
    let limits = Limits::default().with(|limits| {
        limits.streams.max_replay_events = 3;
        limits.streams.max_replay_bytes = 10;
    });
    let store = redis.connect_with(RedisOptions::new().limits(limits)).await;
    let message = |text: &str| StreamEntry::Message(text.as_bytes().into());
    let append = async |stream, position, entry| {
        done(store.append("a", stream, position, entry, MINUTE)).await;
    };
    let read = async |stream, after| done(store.read("a", stream, after)).await;
    append(1, 0, StreamEntry::Opened).await;
    for position in 1..=5 {
        append(1, position, message("abcd")).await;
    }
    assert_eq!(read(1, 2).await, None);
    assert_eq!(read(1, 3).await.map(|rest| rest.len()), Some(2));
    append(1, 6, StreamEntry::Ended).await;
    append(2, 0, StreamEntry::Opened).await;
    append(2, 1, message("abcdefg")).await;
    // There is no longer room for both streams, so the one that has ended is dropped.
    assert_eq!(read(1, 5).await, None);
    assert_eq!(read(2, 0).await.map(|rest| rest.len()), Some(1));
    let bytes = redis.tell(&["HGETALL", "{mcp}:stream-state:a"]);
    let mut bytes: Vec<_> = bytes.lines().collect();
    bytes.sort_unstable();
    assert_eq!(bytes, ["2", "2 bytes", "2 next", "7", "7", "bytes"]);
    let MaybeReady::Later(gap) = store.append("a", 2, 5, message("x"), MINUTE) else {
        panic!("Redis is asked")
    };
    assert!(gap.await.is_err());
    done(store.forget("a")).await;
    assert_eq!(redis.tell(&["KEYS", "*"]).trim(), "");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn concurrent_loads_are_combined_and_each_returns_its_own_session() {
    const SESSIONS: u32 = 100;
    let redis = RedisServer::start();
    let store = redis.connect().await;
    let never = |_: &str| false;
    for number in 1..=SESSIONS {
        let id = number.to_string();
        assert!(done(store.insert(&id, record(None, number), MINUTE, &never)).await);
    }
    redis.tell(&["CONFIG", "RESETSTAT"]);
    // Some of them do not exist.
    let loads = (1..=SESSIONS + 10).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { (number, load(&store, &number.to_string()).await) })
    });
    for loaded in loads.collect::<Vec<_>>() {
        let (number, record) = loaded.await.unwrap();
        let changes = record.map(|record| record.changes());
        assert_eq!(changes, (number <= SESSIONS).then_some(number));
    }
    let stats = redis.tell(&["INFO", "commandstats"]);
    let scripts = stats
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let scripts: u32 = scripts.unwrap().split(',').next().unwrap().parse().unwrap();
    // 32 in one operation. The first attempt is refused, because Redis does not know the script.
    assert!((4..=10).contains(&scripts), "{scripts}");
    // A record that has changed is not confused with the one that was parsed before.
    assert!(done(store.save("1", record(None, 2))).await);
    assert_eq!(load(&store, "1").await.unwrap().changes(), 2);
    // A load keeps its session, and no other.
    let expires = |id: &str| {
        let expiry = redis.tell(&["ZSCORE", "{mcp}:session-expiry", id]);
        expiry.trim().parse::<u64>().unwrap()
    };
    let before = (expires("2"), expires("3"));
    let loads = (
        load(&store, "2"),
        done(SessionStore::load(&store, "3", MINUTE * 10)),
    );
    let (second, third) = tokio::join!(loads.0, loads.1);
    assert!(second.is_some() && third.is_some());
    assert_eq!(expires("2"), before.0, "it is not kept for longer");
    assert!(expires("3") > before.1 + 60_000);
}
