//! Where events of streams are kept, for clients that come back at another instance: the trait, and an implementation.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::session_store::MaybeReady;
use crate::limits::Limits;

/// Keeps what is sent on the event streams of sessions, for clients that come back with `Last-Event-ID`.
///
/// **Open**: implement it over a database that the instances of a server share, beside a [`SessionStore`]. A client whose
/// connection broke then gets the rest of a stream at any of them, also while the call goes on at the one where it began.
/// Without one, each instance keeps the events of its own streams, within the same limits.
///
/// A stream is a list of entries at places that follow each other without gaps: first [`StreamEntry::Opened`] at place 0,
/// then messages, and [`StreamEntry::Ended`] at last. A client names the last place it has seen. Nothing is sent before it was
/// appended, unless that fails: then it is tried again a few times while the client gets what there is. A stream that could
/// not be stored to its end, because the store or the instance failed, ends elsewhere when the store forgets it.
///
/// As for a [`SessionStore`], [`Limits::store_time`](crate::Limits::store_time) is how long anything may take, and errors are
/// answered 503.
///
/// [`SessionStore`]: super::SessionStore
pub trait EventStore: Send + Sync + 'static {
    /// Appends an entry to a stream of a session. From now on the stream is to be kept for the time `keep`, whatever was
    /// said before: [`Limits::session_idle_streaming`](crate::Limits::session_idle_streaming) while it goes on, and
    /// [`Limits::replay_time`](crate::Limits::replay_time) once it has ended.
    ///
    /// Entries of one stream are appended one after the other, by one instance; after an error, or when it took too long, the
    /// same entry again. `stream` is below 2⁶³. A store may forget the oldest entries of a stream, and streams of a session,
    /// when they are too many.
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        place: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()>;

    /// The entries after a place, in order; none if there are none yet. `None` if the stream is not kept for this session,
    /// the entry at the next place is forgotten, or the place was never reached.
    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>>;

    /// Forgets all streams of a session that has ended.
    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()>;
}

/// What an [`EventStore`] keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a store writes all there is; another kind would be lost"
)]
pub enum StreamEntry {
    /// The stream begins.
    Opened,
    /// A message was sent: JSON.
    Message(Arc<[u8]>),
    /// There will be no more.
    Ended,
}

/// Keeps events in the memory of this process, for servers in one process.
///
/// Bounds are those of [`Limits::replay_events`] for the entries of a stream and the streams of a session, and
/// [`Limits::replay_bytes`] for a stream and for a session. Streams that have ended are forgotten first.
pub struct MemoryEvents {
    sessions: Mutex<HashMap<Box<str>, Streams>>,
    most: usize,
    most_bytes: usize,
}

type Streams = HashMap<u64, Log>;

struct Log {
    entries: VecDeque<StreamEntry>,
    /// The place of the first entry that is kept.
    first: u64,
    bytes: usize,
    until: Instant,
}

impl MemoryEvents {
    /// Without any event yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            sessions: Mutex::default(),
            most: limits.replay_events.max(2),
            most_bytes: limits.replay_bytes,
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Box<str>, Streams>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn push(&mut self, entry: StreamEntry) {
        self.bytes = self.bytes.saturating_add(size(&entry));
        self.entries.push_back(entry);
    }

    /// Forgets the oldest entries beyond what is kept, but never the last one.
    fn forget(&mut self, most: usize, most_bytes: usize) {
        while self.entries.len() > 1 && (self.entries.len() > most || self.bytes > most_bytes) {
            if let Some(entry) = self.entries.pop_front() {
                self.first = self.first.saturating_add(1);
                self.bytes = self.bytes.saturating_sub(size(&entry));
            }
        }
    }

    fn next(&self) -> u64 {
        let kept = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(kept)
    }

    fn has_ended(&self) -> bool {
        self.entries.back() == Some(&StreamEntry::Ended)
    }
}

fn size(entry: &StreamEntry) -> usize {
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
        place: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        let now = Instant::now();
        let mut sessions = self.sessions();
        if !sessions.contains_key(session) {
            // Only now and then, because a new session is rarer than an event.
            sessions.retain(|_, streams| {
                streams.retain(|_, log| now <= log.until);
                !streams.is_empty()
            });
            sessions.insert(session.into(), Streams::new());
        }
        let Some(streams) = sessions.get_mut(session) else {
            return MaybeReady::ready(());
        };
        let log = streams.entry(stream).or_insert_with(|| Log {
            entries: VecDeque::new(),
            first: place,
            bytes: 0,
            until: now,
        });
        if log.next() == place.saturating_add(1) {
            // Again, because it was not known that it had worked.
            return MaybeReady::ready(());
        }
        if log.next() != place {
            return MaybeReady::Ready(Err("an entry does not follow the one before".into()));
        }
        log.push(entry);
        // Far enough away, if the limit is too large for a clock.
        let until = now.checked_add(keep);
        log.until = until.unwrap_or_else(|| now + Duration::from_hours(24 * 365));
        log.forget(self.most, self.most_bytes);
        let is_too_much = |streams: &Streams| {
            let bytes = streams.values().map(|log| log.bytes);
            streams.len() > self.most || bytes.sum::<usize>() > self.most_bytes
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
            (next <= log.next()).then(|| log.entries.iter().skip(skipped).cloned().collect())
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
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn known<T>(reply: MaybeReady<'_, T>) -> T {
        match reply {
            MaybeReady::Ready(value) => value.unwrap(),
            MaybeReady::Later(_) => panic!("it has to be waited for"),
        }
    }

    fn message(text: &str) -> StreamEntry {
        StreamEntry::Message(text.as_bytes().into())
    }

    fn store(replay_events: usize, replay_bytes: usize) -> MemoryEvents {
        MemoryEvents::new(&Limits {
            replay_events,
            replay_bytes,
            ..Limits::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_after_a_place_is_read_and_nothing_of_other_streams() {
        let store = store(10, 100);
        let append = |session, stream, place, entry| {
            known(store.append(session, stream, place, entry, MINUTE));
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
    fn a_stream_and_a_session_keep_only_so_much() {
        let store = store(3, 10);
        let append = |stream, place, entry| known(store.append("a", stream, place, entry, MINUTE));
        append(1, 0, StreamEntry::Opened);
        for place in 1..=5 {
            append(1, place, message("abcd"));
        }
        assert_eq!(known(store.read("a", 1, 2)), None);
        assert_eq!(known(store.read("a", 1, 3)).map(|all| all.len()), Some(2));
        append(1, 6, StreamEntry::Ended);
        append(2, 0, StreamEntry::Opened);
        append(2, 1, message("abcdefg"));
        // There is room for both no longer, and the one that has ended goes.
        assert_eq!(known(store.read("a", 1, 5)), None);
        assert_eq!(known(store.read("a", 2, 0)).map(|all| all.len()), Some(1));
    }
}
