//! Tests for the limits on sessions and on the events in their streams.

use std::sync::Arc;

use mcp_stores::{EventStore as _, MaybeReady, SessionRecord, SessionStore, StreamEntry};
use serde_json::from_value;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

async fn done<T>(reply: MaybeReady<'_, T>) -> T {
    match reply {
        MaybeReady::Ready(result) => result.unwrap(),
        MaybeReady::Later(later) | MaybeReady::Bounded(later) => later.await.unwrap(),
    }
}

fn record(owner: &str) -> Arc<SessionRecord> {
    let record = json!({
        "changes": 1, "version": "2025-11-25", "level": "info", "ready": true,
        "lists": [true, true, true], "client": "{}", "uris": [], "owner": owner,
    });
    Arc::new(from_value(record).unwrap())
}

#[tokio::test]
async fn the_longest_idle_session_is_evicted_but_none_in_use() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| {
        let sessions = &mut limits.sessions;
        (sessions.max_sessions, sessions.max_per_principal) = (3, 2);
    });
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
    let insert = async |id: &str, owner: &str, busy: &'static [&'static str]| {
        let in_use = move |id: &str| busy.contains(&id);
        let inserted = done(store.insert(id, record(owner), MINUTE, &in_use)).await;
        // Sessions are ordered by clock time in milliseconds.
        let now = crate::writer::now();
        until_after(now).await;
        inserted
    };
    let is_there = async |id: &str| {
        done(SessionStore::load(&store, id, Duration::ZERO))
            .await
            .is_some()
    };
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
    assert!(
        done(SessionStore::load(&store, "a1", MINUTE * 2))
            .await
            .is_some()
    );
    assert!(insert("d1", "d", &[]).await);
    assert!(is_there("a1").await && !is_there("b1").await);
}

#[tokio::test]
async fn sessions_unused_since_their_handshake_are_evicted_first() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| limits.sessions.max_sessions = 3);
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
    let is_used = async |id: &str| {
        let loaded = SessionStore::load(&store, id, Duration::from_hours(24));
        done(loaded).await.is_some()
    };
    for number in 0..20 {
        let id = format!("s{number}");
        assert!(done(store.insert(&id, record(&id), MINUTE, &|_| false)).await);
        // Sessions are ordered by clock time in milliseconds.
        until_after(crate::writer::now()).await;
        if number < 2 {
            assert!(is_used(&id).await);
        }
    }
    assert!(is_used("s0").await && is_used("s1").await && is_used("s19").await);
    assert!(!is_used("s18").await);
}

/// Waits until the clock has advanced by a millisecond.
async fn until_after(than: i64) {
    while crate::writer::now() <= than {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_events_of_a_stream_and_of_a_session_are_bounded() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| {
        limits.streams.max_replay_events = 3;
        limits.streams.max_replay_bytes = 10;
    });
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
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
    let events = store.0.writer.read(|db| {
        db.query_row("SELECT count(*) FROM events", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    assert_eq!(events.await.unwrap(), 2);
    let gap = store.append("a", 2, 5, message("x"), MINUTE);
    let MaybeReady::Later(gap) = gap else {
        panic!("the file is asked")
    };
    assert!(gap.await.is_err());
}

#[tokio::test]
async fn evicting_a_session_deletes_its_streams() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| limits.sessions.max_sessions = 0);
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
    // As with the in-memory store, there is always room for one session.
    assert!(done(store.insert("a", record("a"), MINUTE, &|_| false)).await);
    done(store.append("a", 1, 0, StreamEntry::Opened, MINUTE)).await;
    let message = StreamEntry::Message((*b"abc").into());
    done(store.append("a", 1, 1, message, MINUTE)).await;
    assert!(done(store.insert("b", record("b"), MINUTE, &|_| false)).await);
    assert_eq!(done(store.read("a", 1, 0)).await, None);
    let left = store.0.writer.read(|db| {
        let sql = "SELECT (SELECT count(*) FROM streams) + (SELECT count(*) FROM events)";
        db.query_row(sql, [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(left.await.unwrap(), 0);
}

#[tokio::test]
async fn every_idle_session_can_be_evicted_even_if_most_are_in_use() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| {
        (
            limits.sessions.max_sessions,
            limits.sessions.max_per_principal,
        ) = (80, 80);
    });
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
    for number in 0..79 {
        let id = format!("busy {number}");
        assert!(done(store.insert(&id, record("a"), MINUTE, &|_| false)).await);
    }
    until_after(crate::writer::now()).await;
    assert!(done(store.insert("idle", record("a"), MINUTE, &|_| false)).await);
    let in_use = |id: &str| id.starts_with("busy");
    assert!(done(store.insert("new", record("a"), MINUTE, &in_use)).await);
    assert!(
        done(SessionStore::load(&store, "idle", MINUTE))
            .await
            .is_none()
    );
    assert!(!done(store.insert("newer", record("a"), MINUTE, &|_| true)).await);
}

#[tokio::test]
async fn a_session_record_of_another_format_version_is_ignored() {
    let folder = Folder::new();
    let store = SqliteOptions::new().open(folder.file()).unwrap();
    assert!(done(store.insert("a", record("a"), MINUTE, &|_| false)).await);
    let newer = store.0.writer.write(|db| {
        let sql = "UPDATE sessions SET record = replace(record, '2025-11-25', '2031-01-01')";
        db.execute(sql, [])
    });
    assert_eq!(newer.await.unwrap(), 1);
    assert!(
        done(SessionStore::load(&store, "a", MINUTE * 9))
            .await
            .is_none()
    );
    // Loading the session does not extend the time for which it is kept, so it expires.
    let expires = store.0.writer.read(|db| {
        db.query_row("SELECT expires_at FROM sessions", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    assert!(expires.await.unwrap() <= crate::writer::now() + crate::writer::milliseconds(MINUTE));
}
