//! Copies events to the store that instances share, and back from it for a client that reconnects at another instance.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use super::event_store::{EventStore, StreamEntry};
use super::session::HttpSession;
use super::session_store::StoreFailed;
use super::stream::{SessionStream, is_standalone};
use crate::limits::Limits;

/// Interval for polling a stream that continues at another instance, and delay before a store that failed is retried.
const PAUSE: Duration = Duration::from_millis(500);

/// Maximum number of attempts to store an entry.
const TRIES: u32 = 10;

/// Stores the entries of a stream, from its beginning to its end, unless another task does so already.
pub(super) fn begin_storing(
    store: &Arc<dyn EventStore>,
    session: &HttpSession,
    stream: &Arc<SessionStream>,
    limits: &Limits,
) {
    if stream.begin_storing() {
        let storing = Storing {
            store: Arc::clone(store),
            session: Arc::clone(&session.id),
            stream: Arc::clone(stream),
            limits: limits.clone(),
        };
        session.own(storing.run());
    }
}

struct Storing {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: Arc<SessionStream>,
    limits: Limits,
}

impl Storing {
    async fn run(self) {
        let mut place = 0;
        while let Some(entry) = poll_fn(|cx| self.stream.poll_entry(place, cx)).await {
            let is_last = entry == StreamEntry::Ended;
            if !self.store(place, entry).await {
                return;
            }
            place = place.saturating_add(1);
            self.stream.stored(place);
            if is_last {
                return;
            }
        }
    }

    /// Stores an entry, with as many attempts as allowed; returns `false` if all of them fail.
    async fn store(&self, place: u64, entry: StreamEntry) -> bool {
        let keep = match entry {
            StreamEntry::Ended => self.limits.streams.replay_timeout,
            StreamEntry::Opened | StreamEntry::Message(_) => {
                self.limits.sessions.streaming_idle_timeout
            }
        };
        for _ in 0..TRIES {
            let number = self.stream.number;
            let appended = self
                .store
                .append(&self.session, number, place, entry.clone(), keep);
            if appended
                .within(self.limits.sessions.store_timeout)
                .await
                .is_ok()
            {
                return true;
            }
            // Clients that read here need not wait for the store.
            self.stream.stored(u64::MAX);
            tokio::time::sleep(PAUSE).await;
        }
        false
    }
}

/// Returns a stream that is not, or no longer, at this instance: the entries after a position, and those still to come.
/// `None` if the store does not have them.
pub(super) async fn fetch(
    store: &Arc<dyn EventStore>,
    session: &HttpSession,
    (number, after): (u64, u64),
    limits: &Limits,
) -> Result<Option<Arc<SessionStream>>, StoreFailed> {
    let entries = store.read(&session.id, number, after);
    let Some(entries) = entries.within(limits.sessions.store_timeout).await? else {
        return Ok(None);
    };
    if is_standalone(number) {
        // Such a stream continues wherever its client listens.
        let stream = session.standalone(limits);
        for entry in entries {
            if let StreamEntry::Message(message) = entry {
                stream.push(message);
            }
        }
        return Ok(Some(stream));
    }
    let mut fetching = Fetching {
        store: Arc::clone(store),
        session: Arc::clone(&session.id),
        stream: session.copy_stream(number, after, limits),
        place: after,
        limits: limits.clone(),
    };
    let stream = Arc::clone(&fetching.stream);
    if !fetching.take(entries) {
        session.own(fetching.run());
    }
    Ok(Some(stream))
}

struct Fetching {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: Arc<SessionStream>,
    /// Position of the last entry that was copied.
    place: u64,
    limits: Limits,
}

impl Fetching {
    /// Copies entries; returns `true` if the last one of the stream was among them.
    fn take(&mut self, entries: Vec<StreamEntry>) -> bool {
        for entry in entries {
            self.place = self.place.saturating_add(1);
            match entry {
                StreamEntry::Opened => {}
                StreamEntry::Message(message) => self.stream.push(message),
                StreamEntry::Ended => {
                    self.stream.end();
                    return true;
                }
            }
        }
        false
    }

    async fn run(mut self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            if self.stream.is_full() {
                continue;
            }
            let read = self
                .store
                .read(&self.session, self.stream.number, self.place);
            match read.within(self.limits.sessions.store_timeout).await {
                Ok(Some(entries)) => {
                    if self.take(entries) {
                        return;
                    }
                }
                // The store dropped the stream: the client has to reconnect, and then gets an error.
                Ok(None) => return self.stream.end(),
                // The error has been logged, and may be temporary.
                Err(StoreFailed) => {}
            }
        }
    }
}
