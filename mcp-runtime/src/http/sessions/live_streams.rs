//! A session's streams on this instance, and the tasks that copy their events.

use std::future::Future;
use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::budget::Charge;
use crate::fnv::FnvMap;
use crate::http::response::sse::EventId;
use crate::http::sessions::instance_tag::InstanceTag;
use crate::http::streams::session_stream::{SessionStream, StreamProperties};
use crate::limits::Limits;

/// Maximum number of streams on other instances whose rest is copied at the same time.
const MAX_LEFT: usize = 16;

/// A session's streams on this instance.
pub(super) struct LiveStreams {
    streams: FnvMap<u64, Arc<SessionStream>>,
    /// Number of the standalone stream, which is not opened by a request.
    standalone: u64,
    next: u64,
    /// Tasks that copy events to and from a store.
    transfers: Vec<AbortHandle>,
    /// The streams on other instances that the client has left, and the tasks that copy the rest of them.
    left: Vec<(u64, AbortHandle)>,
    /// Counts nothing itself, but leads to the account that counts the streams' events.
    unsent: Charge,
    is_closed: bool,
}

impl LiveStreams {
    /// Creates an empty table. Numbering starts at a random value, so that a session's streams are numbered differently
    /// on each instance and each time the live part is created. The value begins with this instance's tag, if any.
    pub(super) fn new(instance: Option<InstanceTag>, unsent: Charge) -> Self {
        let numbers = u64::from_ne_bytes(crate::random::random());
        let first = instance.map_or(numbers >> 2, |instance| instance.first_stream(numbers));
        let standalone = first & !1;
        Self {
            streams: FnvMap::default(),
            standalone,
            next: standalone.saturating_add(1),
            transfers: Vec::new(),
            left: Vec::new(),
            unsent,
            is_closed: false,
        }
    }

    /// Returns `true` if there are no streams and no tasks that copy events.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.transfers.is_empty() && self.left.is_empty()
    }

    /// Returns `true` if the client has received all events of the standalone stream and of those that it has left.
    pub(super) fn are_delivered(&self) -> bool {
        let standalone = self.streams.get(&self.standalone);
        self.left.iter().all(|(_, transfer)| transfer.is_finished())
            && standalone.is_some_and(|stream| stream.is_delivered())
    }

    /// Returns `true` if there is only the standalone stream.
    pub(super) fn has_only_standalone(&self) -> bool {
        self.streams.len() == 1 && self.streams.contains_key(&self.standalone)
    }

    /// Opens a stream that will carry `awaited` answers, to this request if there is only one.
    pub(super) fn open(
        &mut self,
        properties: StreamProperties,
        (awaited, request): (usize, Option<Box<str>>),
        limits: &Limits,
    ) -> Arc<SessionStream> {
        self.drop_ended_streams(limits);
        let number = self.next;
        // Streams opened by requests have odd numbers.
        self.next = number.saturating_add(2);
        let mut stream =
            SessionStream::new(number, properties, awaited, (limits, self.unsent.another()));
        stream.request = request;
        self.add(stream)
    }

    /// Returns the standalone stream, creating it with these properties if it does not exist.
    pub(super) fn standalone_stream(
        &mut self,
        properties: StreamProperties,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        if let Some(stream) = self.streams.get(&self.standalone) {
            return Arc::clone(stream);
        }
        let kept = (limits, self.unsent.another());
        self.add(SessionStream::new(self.standalone, properties, 1, kept))
    }

    /// Creates a copy of a stream from another instance and ends any earlier copy.
    pub(super) fn add_copy(&mut self, event: EventId<'_>, limits: &Limits) -> Arc<SessionStream> {
        let (number, after) = (event.stream, event.position);
        let before = self.streams.remove(&number);
        if let Some(before) = before {
            before.end();
        }
        let mut stream = SessionStream::new_copy(number, after, (limits, self.unsent.another()));
        stream.request = event.request.map(Into::into);
        self.add(stream)
    }

    fn add(&mut self, stream: SessionStream) -> Arc<SessionStream> {
        let stream = Arc::new(stream);
        if self.is_closed {
            stream.end();
        } else {
            self.streams.insert(stream.number, Arc::clone(&stream));
        }
        stream
    }

    /// Returns the stream with this number, if it is still kept.
    pub(super) fn find_stream(
        &mut self,
        number: u64,
        limits: &Limits,
    ) -> Option<Arc<SessionStream>> {
        self.drop_ended_streams(limits);
        self.streams.get(&number).cloned()
    }

    /// Removes a stream that clients will not resume.
    pub(super) fn remove(&mut self, number: u64) {
        self.streams.remove(&number);
    }

    /// Spawns a task that copies events.
    pub(super) fn spawn_transfer(&mut self, transfer: impl Future<Output = ()> + Send + 'static) {
        self.transfers.retain(|transfer| !transfer.is_finished());
        if !self.is_closed {
            self.transfers.push(tokio::spawn(transfer).abort_handle());
        }
    }

    /// Spawns a task that copies the rest of a stream that the client has left, instead of an earlier one for this stream.
    pub(super) fn follow(
        &mut self,
        number: u64,
        transfer: impl Future<Output = ()> + Send + 'static,
    ) {
        self.left.retain(|(left, transfer)| {
            if *left == number {
                transfer.abort();
            }
            *left != number && !transfer.is_finished()
        });
        if self.left.len() >= MAX_LEFT {
            self.left.remove(0).1.abort();
        }
        if !self.is_closed {
            self.left
                .push((number, tokio::spawn(transfer).abort_handle()));
        }
    }

    /// Drops streams that have ended. Resumable streams are kept as long as the limits allow.
    pub(super) fn drop_ended_streams(&mut self, limits: &Limits) {
        self.transfers.retain(|transfer| !transfer.is_finished());
        self.left.retain(|(_, transfer)| !transfer.is_finished());
        let now = Instant::now();
        let mut kept = Vec::new();
        self.streams.retain(|number, stream| {
            let Some((at, bytes)) = stream.finished() else {
                return true;
            };
            let age = now.saturating_duration_since(at);
            let keep = stream.is_resumable() && age <= limits.streams.replay_timeout;
            if keep {
                kept.push((*number, bytes));
            }
            keep
        });
        kept.sort_unstable();
        let mut total = 0_usize;
        for (index, (number, bytes)) in kept.into_iter().rev().enumerate() {
            total = total.saturating_add(bytes);
            if index >= limits.streams.max_replay_events || total > limits.streams.max_replay_bytes
            {
                self.streams.remove(&number);
            }
        }
    }

    /// Takes all streams so that the caller can [end](Self::end) them. Streams opened later end immediately.
    pub(super) fn close(&mut self) -> Self {
        self.is_closed = true;
        Self {
            streams: std::mem::take(&mut self.streams),
            transfers: std::mem::take(&mut self.transfers),
            left: std::mem::take(&mut self.left),
            unsent: self.unsent.another(),
            ..*self
        }
    }

    /// Ends all streams.
    pub(super) fn end(self) {
        let left = self.left.into_iter().map(|(_, transfer)| transfer);
        for transfer in self.transfers.into_iter().chain(left) {
            transfer.abort();
        }
        for stream in self.streams.into_values() {
            // The remaining events are no longer stored, so readers must not wait for that.
            stream.mark_store_away();
            stream.end();
        }
    }
}
