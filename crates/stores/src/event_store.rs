//! The trait for stores of stream events, which let clients resume a stream on another instance.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_core::limits::Limits;
use mcp_core::sync::lock;
use tokio::time::Instant;

use crate::session_store::MaybeReady;

/// Stores the messages sent on sessions' event streams, for clients that reconnect with `Last-Event-ID`.
///
/// **Open**: implement it on top of a database that all instances of a server share, in addition to a [`SessionStore`].
/// A client that lost its connection can then receive the rest of a stream from any instance, even while the call
/// continues on the instance where it started. Without a shared store, each instance keeps the events of its own
/// streams, within [`limits.streams`](mcp_core::limits::Limits).
///
/// A stream is a list of entries at consecutive positions: first [`StreamEntry::Opened`] at position 0, then messages,
/// and finally [`StreamEntry::Ended`]. A reconnecting client sends the last position it received. Messages are
/// normally sent only after they have been appended. If appending fails, it is retried a few times, and in the
/// meantime, the client receives the messages that are available. If the store or the instance fails before the whole
/// stream has been stored, other instances see the stream end when the store drops it.
///
/// As with a [`SessionStore`], each operation may take up to [`limits.sessions.store_timeout`](mcp_core::limits::Limits), and a
/// request fails with 503 if the store fails.
///
/// [`SessionStore`]: crate::SessionStore
pub trait EventStore: Send + Sync + 'static {
    /// Appends an entry to a session's stream. From then on, the store keeps the stream for the duration `keep`,
    /// regardless of any earlier `keep` values. `keep` is 30 minutes (or
    /// [`limits.sessions.streaming_idle_timeout`](mcp_core::limits::Limits), if that is less) while the stream continues and [`limits.streams.replay_timeout`](mcp_core::limits::Limits) once it has ended.
    ///
    /// The same instance appends all of a stream's entries, one after another. After an error or a timeout, the
    /// instance appends the same entry again. `stream` is less than 2⁶³. A store may drop a stream's oldest entries if
    /// the stream has too many, and a session's streams if the session has too many.
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()>;

    /// Returns the entries after the position `after`, in order, or an empty list if there are no such entries yet.
    /// Returns `None` if the stream is not kept for this session, if the entry at the next position was dropped, or if
    /// the position was never reached.
    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>>;

    /// Drops all streams for a session that has ended.
    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()>;
}

/// An entry in an [`EventStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a store writes every kind of entry; a new kind would be lost"
)]
pub enum StreamEntry {
    /// The start of the stream.
    Opened,
    /// A message sent on the stream, as JSON.
    Message(Arc<[u8]>),
    /// The end of the stream: no entries follow.
    Ended,
}

// --- Stream events kept in the memory of this process.

/// Keeps stream events in the memory of this process, for servers that run in the same process.
///
/// `limits.streams.max_replay_events` limits the number of entries in a stream and the number of streams in a session;
/// `limits.streams.max_replay_bytes` limits the size of a stream and the total size of a session's streams. Streams
/// that have ended are dropped first.
pub struct MemoryEvents {
    sessions: Mutex<HashMap<Box<str>, StoredStreams>>,
    max_entries: usize,
    max_bytes: usize,
}

type StoredStreams = HashMap<u64, StoredStream>;

struct StoredStream {
    entries: VecDeque<StreamEntry>,
    /// Position of the first entry still kept.
    first: u64,
    bytes: usize,
    until: Instant,
}

impl MemoryEvents {
    /// Creates an empty store.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            sessions: Mutex::default(),
            max_entries: limits.streams.max_replay_events.max(2),
            max_bytes: limits.streams.max_replay_bytes,
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Box<str>, StoredStreams>> {
        lock(&self.sessions)
    }
}

impl StoredStream {
    fn push(&mut self, entry: StreamEntry) {
        self.bytes = self.bytes.saturating_add(entry_bytes(&entry));
        self.entries.push_back(entry);
    }

    /// Drops the oldest entries while a limit is exceeded, but never the last one.
    fn drop_oldest_entries(&mut self, max_entries: usize, max_bytes: usize) {
        while self.entries.len() > 1 && (self.entries.len() > max_entries || self.bytes > max_bytes)
        {
            if let Some(entry) = self.entries.pop_front() {
                self.first = self.first.saturating_add(1);
                self.bytes = self.bytes.saturating_sub(entry_bytes(&entry));
            }
        }
    }

    fn next_position(&self) -> u64 {
        let kept = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(kept)
    }

    fn has_ended(&self) -> bool {
        self.entries.back() == Some(&StreamEntry::Ended)
    }
}

fn entry_bytes(entry: &StreamEntry) -> usize {
    match entry {
        StreamEntry::Message(message) => message.len(),
        StreamEntry::Opened | StreamEntry::Ended => 0,
    }
}

impl EventStore for MemoryEvents {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        let now = Instant::now();
        let mut sessions = self.sessions();
        if !sessions.contains_key(session) {
            // Expired streams are removed only when a new session is added, because new sessions are rarer than events.
            sessions.retain(|_, streams| {
                streams.retain(|_, log| now <= log.until);
                !streams.is_empty()
            });
            sessions.insert(session.into(), StoredStreams::new());
        }
        let Some(streams) = sessions.get_mut(session) else {
            return MaybeReady::ready(());
        };
        let log = streams.entry(stream).or_insert_with(|| StoredStream {
            entries: VecDeque::new(),
            first: position,
            bytes: 0,
            until: now,
        });
        if log.next_position() == position.saturating_add(1) {
            // The instance appended the entry again because it did not learn that its first attempt had succeeded.
            return MaybeReady::ready(());
        }
        if log.next_position() != position {
            return MaybeReady::Ready(Err("the entry does not follow the previous one".into()));
        }
        log.push(entry);
        // Falls back to one year if the clock cannot represent the expiry time.
        let until = now.checked_add(keep);
        log.until = until.unwrap_or_else(|| now + Duration::from_hours(24 * 365));
        log.drop_oldest_entries(self.max_entries, self.max_bytes);
        let is_too_much = |streams: &StoredStreams| {
            let bytes = streams.values().map(|log| log.bytes);
            streams.len() > self.max_entries || bytes.sum::<usize>() > self.max_bytes
        };
        while is_too_much(streams) {
            let ended = streams.iter().filter(|(_, log)| log.has_ended());
            let Some(oldest) = ended.min_by_key(|(_, log)| log.until).map(|(id, _)| *id) else {
                break;
            };
            streams.remove(&oldest);
        }
        MaybeReady::ready(())
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        let sessions = self.sessions();
        let log = sessions
            .get(session)
            .and_then(|streams| streams.get(&stream));
        let log = log.filter(|log| Instant::now() <= log.until);
        let entries = log.and_then(|log| {
            let next = after.checked_add(1)?;
            let skipped = usize::try_from(next.checked_sub(log.first)?).ok()?;
            (next <= log.next_position())
                .then(|| log.entries.iter().skip(skipped).cloned().collect())
        });
        MaybeReady::ready(entries)
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        self.sessions().remove(session);
        MaybeReady::ready(())
    }
}

impl fmt::Debug for MemoryEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEvents").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::event_store::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn known<T>(reply: MaybeReady<'_, T>) -> T {
        match reply {
            MaybeReady::Ready(value) => value.unwrap(),
            MaybeReady::Later(_) | MaybeReady::Bounded(_) => panic!("it has to be waited for"),
        }
    }

    fn message(text: &str) -> StreamEntry {
        StreamEntry::Message(text.as_bytes().into())
    }

    fn store(replay_events: usize, replay_bytes: usize) -> MemoryEvents {
        MemoryEvents::new(&Limits::default().with(|limits| {
            limits.streams.max_replay_events = replay_events;
            limits.streams.max_replay_bytes = replay_bytes;
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn reading_returns_only_later_entries_of_the_same_stream() {
        let store = store(10, 100);
        let append = |session, stream, position, entry| {
            known(store.append(session, stream, position, entry, MINUTE));
        };
        append("a", 1, 0, StreamEntry::Opened);
        append("a", 1, 1, message("1"));
        append("a", 1, 1, message("1"));
        append("a", 2, 0, StreamEntry::Opened);
        append("a", 1, 2, StreamEntry::Ended);
        let read = |session, stream, after| known(store.read(session, stream, after));
        assert_eq!(
            read("a", 1, 0),
            Some(vec![message("1"), StreamEntry::Ended])
        );
        assert_eq!(read("a", 1, 2), Some(vec![]));
        assert_eq!(read("a", 2, 0), Some(vec![]));
        for (session, stream, after) in [("a", 1, 3), ("a", 1, u64::MAX), ("a", 3, 0), ("b", 1, 0)]
        {
            assert_eq!(read(session, stream, after), None);
        }
        let gap = store.append("a", 2, 2, message("x"), MINUTE);
        assert!(matches!(gap, MaybeReady::Ready(Err(_))));
        tokio::time::advance(MINUTE * 2).await;
        assert_eq!(read("a", 1, 0), None);
        append("b", 1, 0, StreamEntry::Opened);
        assert_eq!(store.sessions().len(), 1);
        known(store.forget("b"));
        assert_eq!(read("b", 1, 0), None);
    }

    #[test]
    fn the_events_of_a_stream_and_of_a_session_are_bounded() {
        let store = store(3, 10);
        let append =
            |stream, position, entry| known(store.append("a", stream, position, entry, MINUTE));
        append(1, 0, StreamEntry::Opened);
        for position in 1..=5 {
            append(1, position, message("abcd"));
        }
        assert_eq!(known(store.read("a", 1, 2)), None);
        assert_eq!(known(store.read("a", 1, 3)).map(|all| all.len()), Some(2));
        append(1, 6, StreamEntry::Ended);
        append(2, 0, StreamEntry::Opened);
        append(2, 1, message("abcdefg"));
        // There is no longer room for both streams, so the stream that has ended is dropped.
        assert_eq!(known(store.read("a", 1, 5)), None);
        assert_eq!(known(store.read("a", 2, 0)).map(|all| all.len()), Some(1));
    }

    #[test]
    fn a_stream_keeps_as_many_entries_as_it_may() {
        let store = store(3, 1_000);
        let append = |position, entry| known(store.append("a", 1, position, entry, MINUTE));
        append(0, StreamEntry::Opened);
        for position in 1..=3 {
            append(position, message("abcd"));
        }
        assert_eq!(known(store.read("a", 1, 0)).map(|all| all.len()), Some(3));
        append(4, message("abcd"));
        assert_eq!(known(store.read("a", 1, 0)), None);
        assert_eq!(known(store.read("a", 1, 1)).map(|all| all.len()), Some(3));
    }

    #[test]
    fn a_ttl_that_exceeds_the_clock_is_accepted() {
        let store = store(10, 100);
        known(store.append("a", 1, 0, StreamEntry::Opened, Duration::MAX));
        known(store.append("a", 1, 1, message("1"), Duration::MAX));
        assert_eq!(known(store.read("a", 1, 0)), Some(vec![message("1")]));
    }
}
