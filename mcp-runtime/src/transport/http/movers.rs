//! Moves events to the store that instances share, and back from it for a client that comes to another instance.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use super::event_store::{EventStore, StreamEntry};
use super::session::HttpSession;
use super::session_store::StoreFailed;
use super::stream::{Stream, is_standalone};
use crate::limits::Limits;

/// How often a stream that goes on at another instance is looked at, and how soon a store that failed is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often storing is tried.
const TRIES: u32 = 10;

/// Stores what is sent on a stream, from its beginning to its end, unless somebody does already.
pub(super) fn begin_storing(
    store: &Arc<dyn EventStore>,
    session: &HttpSession,
    stream: &Arc<Stream>,
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
    stream: Arc<Stream>,
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

    /// Stores an entry, however often that has to be tried. `false` if it cannot be.
    async fn store(&self, place: u64, entry: StreamEntry) -> bool {
        let keep = match entry {
            StreamEntry::Ended => self.limits.replay_time,
            StreamEntry::Opened | StreamEntry::Message(_) => self.limits.session_idle_streaming,
        };
        for _ in 0..TRIES {
            let number = self.stream.number;
            let appended = self
                .store
                .append(&self.session, number, place, entry.clone(), keep);
            if appended.within(self.limits.store_time).await.is_ok() {
                return true;
            }
            // Whoever reads here need not wait for it.
            self.stream.stored(u64::MAX);
            tokio::time::sleep(PAUSE).await;
        }
        false
    }
}

/// What came after a place of a stream that is not, or no longer, at this instance; and what is still to come. `None` if the
/// store does not know that.
pub(super) async fn fetch(
    store: &Arc<dyn EventStore>,
    session: &HttpSession,
    (number, after): (u64, u64),
    limits: &Limits,
) -> Result<Option<Arc<Stream>>, StoreFailed> {
    let entries = store.read(&session.id, number, after);
    let Some(entries) = entries.within(limits.store_time).await? else {
        return Ok(None);
    };
    if is_standalone(number) {
        // Such a stream goes on wherever its client listens.
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
    stream: Arc<Stream>,
    /// The last one that is here.
    place: u64,
    limits: Limits,
}

impl Fetching {
    /// Whether that was the last.
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
            match read.within(self.limits.store_time).await {
                Ok(Some(entries)) => {
                    if self.take(entries) {
                        return;
                    }
                }
                // It was forgotten: the client has to come back, and will be told.
                Ok(None) => return self.stream.end(),
                // It is in the log, and may be over soon.
                Err(StoreFailed) => {}
            }
        }
    }
}
