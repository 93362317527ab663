//! Transfers events between instances through the store that they share, so that a client can resume a stream on
//! another instance.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use mcp_core::limits::Limits;
use mcp_protocol::encode;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_stores::{EventStore, StoreFailed, StreamEntry};

use crate::response;
use crate::response::EventId;
use crate::sessions::live_session::LiveSession;
use crate::sessions::other_instances::{InstanceTag, OtherInstances};
use crate::streams::{SessionStream, is_standalone};

/// Interval for polling a stream that continues on another instance, and delay before the first repetition of a failed
/// store operation. The delay doubles with each failure.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum delay before a repetition.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// Maximum number of attempts to store or to read an entry, so that a store may be away for about a minute.
const STORE_ATTEMPTS: u32 = 20;

/// Number of times that the stream that a client has left is read again, within about twelve seconds. Its last entries may
/// reach the store only after the client has moved.
const LATER_READS: u32 = 5;

/// Number of times in a row that a stream's instance must be missing before it is considered gone.
const MAX_TIMES_MISSING: u32 = 8;
/// Maximum time for which a store keeps a stream that has not ended, after its last entry. If the instance where the
/// stream began has failed, the stream never ends.
const OPEN_STREAM: Duration = Duration::from_mins(30);

impl LiveSession {
    /// Spawns a task, owned by the session, that copies events to or from a store.
    fn spawn_transfer(&self, transfer: impl Future<Output = ()> + Send + 'static) {
        self.state().streams.spawn_transfer(transfer);
    }

    /// Spawns a task, owned by the session, that copies the rest of a stream that the client has left.
    fn follow(&self, number: u64, transfer: impl Future<Output = ()> + Send + 'static) {
        self.state().streams.follow(number, transfer);
    }
}

/// Stores all entries of a stream from beginning to end, unless another task is already doing so.
pub(crate) fn begin_storing(
    store: &Arc<dyn EventStore>,
    session: &LiveSession,
    stream: &Arc<SessionStream>,
    limits: &Limits,
) {
    if stream.begin_storing() {
        let storing = StreamStoringTask {
            store: Arc::clone(store),
            session: Arc::clone(&session.id),
            stream: Arc::clone(stream),
            limits: limits.clone(),
        };
        session.spawn_transfer(storing.store_stream());
    }
}

struct StreamStoringTask {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: Arc<SessionStream>,
    limits: Limits,
}

impl StreamStoringTask {
    async fn store_stream(self) {
        let mut position = 0;
        while let Some(entry) = poll_fn(|cx| self.stream.poll_entry(position, cx)).await {
            let is_last = entry == StreamEntry::Ended;
            if !self.store_entry(position, entry).await {
                break;
            }
            position = position.saturating_add(1);
            self.stream.mark_stored(position);
            if is_last {
                return;
            }
        }
        // Nothing more is stored, so readers must not wait for that.
        self.stream.mark_store_away();
    }

    /// Stores an entry, retrying up to the maximum number of attempts. Returns `false` if all of them fail.
    async fn store_entry(&self, position: u64, entry: StreamEntry) -> bool {
        let keep = match entry {
            StreamEntry::Ended => self.limits.streams.replay_timeout,
            StreamEntry::Opened | StreamEntry::Message(_) => {
                OPEN_STREAM.min(self.limits.sessions.streaming_idle_timeout)
            }
        };
        let mut pause = POLL_INTERVAL;
        for _ in 0..STORE_ATTEMPTS {
            let number = self.stream.number;
            let appended = self
                .store
                .append(&self.session, number, position, entry.clone(), keep);
            if appended
                .with_timeout(self.limits.sessions.store_timeout)
                .await
                .is_ok()
            {
                return true;
            }
            // Clients that are connected to this instance do not have to wait for the store.
            self.stream.mark_store_away();
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
        false
    }
}

/// Returns a stream that is not kept on this instance, containing all entries after a position, including future ones.
/// Returns `None` if the store does not have these entries.
pub(crate) async fn fetch_stream(
    store: &Arc<dyn EventStore>,
    others: Option<&Arc<OtherInstances>>,
    session: &LiveSession,
    event: EventId<'_>,
    limits: &Limits,
) -> Result<Option<Arc<SessionStream>>, StoreFailed> {
    let (number, after) = (event.stream, event.position);
    let entries = store.read(&session.id, number, after);
    let Some(entries) = entries.with_timeout(limits.sessions.store_timeout).await? else {
        return Ok(None);
    };
    if is_standalone(number) {
        // A standalone stream continues on whichever instance its client connects to.
        let stream = session.standalone_stream(limits);
        let mut left = LeftStream {
            store: Arc::clone(store),
            session: Arc::clone(&session.id),
            number,
            position: after,
            continued: Arc::clone(&stream),
            limits: limits.clone(),
        };
        left.copy(entries);
        session.follow(number, left.read_later());
        return Ok(Some(stream));
    }
    let mut fetching = FetchingTask {
        store: Arc::clone(store),
        session: Arc::clone(&session.id),
        stream: session.state().streams.add_copy(event, limits),
        source: others.and_then(|others| StreamSource::of(others, event)),
        position: after,
        limits: limits.clone(),
    };
    let stream = Arc::clone(&fetching.stream);
    if !fetching.append_entries(entries) {
        session.spawn_transfer(fetching.fetch_entries());
    }
    Ok(Some(stream))
}

/// A standalone stream whose client has moved here. It carries only notifications of changes, so a copy of one that the
/// client already has does no harm.
struct LeftStream {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    number: u64,
    /// Position of the last entry that was copied.
    position: u64,
    /// The client's stream on this instance.
    continued: Arc<SessionStream>,
    limits: Limits,
}

impl LeftStream {
    fn copy(&mut self, entries: Vec<StreamEntry>) {
        for entry in entries {
            self.position = self.position.saturating_add(1);
            if let StreamEntry::Message(message) = entry {
                self.continued.push(message);
            }
        }
    }

    /// Copies what is stored later, because the stream's instance did not know yet that the client had left, or its store
    /// was slow.
    async fn read_later(mut self) {
        let mut pause = POLL_INTERVAL;
        let mut reads = 0;
        for _ in 0..STORE_ATTEMPTS {
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            if self.continued.is_full() {
                continue;
            }
            let read = self.store.read(&self.session, self.number, self.position);
            match read.with_timeout(self.limits.sessions.store_timeout).await {
                Ok(Some(entries)) => self.copy(entries),
                Ok(None) => return,
                // The error has been logged and may be temporary.
                Err(StoreFailed) => continue,
            }
            reads += 1;
            if reads == LATER_READS {
                return;
            }
        }
    }
}

struct FetchingTask {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: Arc<SessionStream>,
    source: Option<StreamSource>,
    /// Position of the last entry that was copied.
    position: u64,
    limits: Limits,
}

impl FetchingTask {
    /// Copies entries. Returns `true` if they include the stream's last entry.
    fn append_entries(&mut self, entries: Vec<StreamEntry>) -> bool {
        for entry in entries {
            self.position = self.position.saturating_add(1);
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

    /// Answers the request with an error and ends the stream, because its instance is gone.
    fn end_without_answer(&self) {
        let request = self.stream.request.as_deref();
        if let Some(id) = request.and_then(response::decode_request) {
            let error =
                ErrorObject::internal("the server instance where this request ran has ended");
            let mut message = Vec::new();
            encode::error(&mut message, Some(&id), &error);
            self.stream.push(message.into());
        }
        self.stream.end();
    }

    async fn fetch_entries(mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.stream.is_full() {
                continue;
            }
            let read = self
                .store
                .read(&self.session, self.stream.number, self.position);
            let limit = self.limits.sessions.store_timeout;
            match read.with_timeout(limit).await {
                Ok(Some(entries)) => {
                    let is_silent = entries.is_empty();
                    if self.append_entries(entries) {
                        return;
                    }
                    if is_silent
                        && let Some(source) = &mut self.source
                        && source.is_gone(limit).await
                    {
                        return self.end_without_answer();
                    }
                }
                // The store dropped the stream. The client must reconnect and then receives an error.
                Ok(None) => return self.stream.end(),
                // The error has been logged and may be temporary.
                Err(StoreFailed) => {}
            }
        }
    }
}

/// The instance where a stream's call runs.
struct StreamSource {
    others: Arc<OtherInstances>,
    tag: InstanceTag,
    /// Number of times in a row that the instance was not among the live instances.
    missing: u32,
}

impl StreamSource {
    fn of(others: &Arc<OtherInstances>, event: EventId<'_>) -> Option<Self> {
        Some(Self {
            others: Arc::clone(others),
            tag: InstanceTag::of_stream(event.stream)?,
            missing: 0,
        })
    }

    /// Returns `true` if the instance is gone. The instance is given some time to register again, because a store that
    /// was lost or had failed has forgotten all instances.
    async fn is_gone(&mut self, limit: Duration) -> bool {
        match self.others.is_alive(self.tag, limit).await {
            Some(true) => self.missing = 0,
            Some(false) => self.missing = self.missing.saturating_add(1),
            // The store has failed, so it is unknown whether the instance is alive.
            None => {}
        }
        self.missing >= MAX_TIMES_MISSING
    }
}
