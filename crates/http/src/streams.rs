//! Resumable event streams, which carry a session's events and outlive individual connections.
//!
//! The sessions that own streams, and the copies of streams on other instances, are in `sessions`.
//!
//! Specification: 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use mcp_core::budget::Charge;
use mcp_core::dispatch::Sink;
use mcp_core::limits::Limits;
use mcp_core::sync::lock;
use mcp_protocol::jsonrpc::RequestId;
use mcp_stores::StreamEntry;
use tokio::time::Instant;

use crate::response;
use crate::response::{EventId, MAX_POLLED_BYTES, StreamStatus};

/// Returns `true` if the stream with this number is standalone, which means that it is not opened by a request, does
/// not await answers, and ends with its session.
pub(crate) const fn is_standalone(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// A stream that belongs to a session.
pub(crate) struct SessionStream {
    pub(crate) number: u64,
    /// `true` if the stream's call runs on another instance.
    pub(crate) is_copy: bool,
    /// The request whose answer the stream will carry, in the form used in event ids.
    pub(crate) request: Option<Box<str>>,
    pub(super) properties: StreamProperties,
    pub(super) bounds: EventLogBounds,
    log: Mutex<EventLog>,
}

/// The properties of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamProperties {
    /// `true` if the client accepts events; otherwise, only answers are kept.
    pub(crate) takes_events: bool,
    pub(crate) resumption: Resumption,
    /// `true` if the stream's events are stored for other instances.
    pub(crate) is_stored: bool,
}

/// The answers that a stream will carry.
#[derive(Clone, Copy)]
pub(crate) enum AwaitedAnswer<'a> {
    /// The answer to this request.
    One(&'a RequestId),
    /// The answers to the requests in a batch.
    Batch(usize),
}

impl AwaitedAnswer<'_> {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Batch(count) => count,
        }
    }
}

/// Support for resuming a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resumption {
    /// A client cannot resume the stream.
    Never,
    /// A client can resume the stream after an event by sending the event's id.
    ById,
    /// In addition, the stream starts with an event that contains only an id (2025-11-25 and later).
    Primed,
}

/// The form of the response to a request.
pub(crate) enum ResponseStart {
    /// An event stream.
    Events,
    /// All answers, without other messages. Empty if the request was cancelled.
    Answers(Vec<Arc<[u8]>>),
}

impl SessionStream {
    /// Creates a stream that will carry `awaited` answers.
    pub(crate) fn new(
        number: u64,
        properties: StreamProperties,
        awaited: usize,
        limits: &Limits,
        unsent: Charge,
    ) -> Self {
        Self {
            number,
            properties,
            is_copy: false,
            request: None,
            bounds: EventLogBounds::new(limits),
            log: Mutex::new(EventLog::new(awaited, properties.is_stored, unsent)),
        }
    }

    /// Creates a copy of a stream whose call runs on another instance, starting after a position.
    pub(crate) fn new_copy(number: u64, after: u64, limits: &Limits, unsent: Charge) -> Self {
        let properties = StreamProperties {
            takes_events: true,
            resumption: Resumption::ById,
            is_stored: false,
        };
        let mut stream = Self::new(number, properties, 1, limits, unsent);
        stream.is_copy = true;
        let next = after.saturating_add(1);
        let mut log = stream.log();
        (log.first, log.next, log.read) = (next, next, next);
        drop(log);
        stream
    }

    pub(super) fn log(&self) -> MutexGuard<'_, EventLog> {
        lock(&self.log)
    }

    /// Queues an answer. Answers are always accepted because they were requested and their size is bounded.
    pub(crate) fn push_answer(&self, message: &[u8]) {
        let mut log = self.log();
        log.push(message.into(), self.bounds);
        if !is_standalone(self.number) {
            log.settle_answer();
        }
    }

    /// Queues a message that was sent on another instance, or for which there is [capacity](Self::remaining_capacity).
    pub(crate) fn push(&self, message: Arc<[u8]>) {
        self.log().push_notification(message, self.bounds);
    }

    /// Records that one answer will not be sent.
    pub(crate) fn skip_answer(&self) {
        if !is_standalone(self.number) {
            self.log().settle_answer();
        }
    }

    /// Ends the stream because no more answers will be sent.
    pub(crate) fn end(&self) {
        let mut log = self.log();
        log.awaited = 0;
        log.finish();
    }

    /// Returns `true` if the stream holds the maximum number of unread bytes.
    pub(crate) fn is_full(&self) -> bool {
        self.log().remaining_capacity(self.bounds) == 0
    }

    /// Returns `true` if all events have been read and, if they are stored for other instances, stored. A client that
    /// loses its connection then misses none of them, wherever it reconnects.
    pub(crate) fn is_delivered(&self) -> bool {
        let log = self.log();
        log.read.min(log.stored) >= log.next
    }

    /// Returns the number of unread bytes that may be added, which is zero once the stream has ended.
    pub(crate) fn remaining_capacity(&self) -> usize {
        let mut log = self.log();
        match log.awaited {
            0 => 0,
            _ => log.remaining_capacity(self.bounds),
        }
    }

    /// Returns the number of unread bytes.
    #[cfg(test)]
    pub(crate) fn unread_bytes(&self) -> usize {
        self.log().unread_bytes
    }

    /// Returns the time of the last answer and the number of bytes kept for clients that reconnect, or `None` if more
    /// answers will be sent.
    pub(crate) fn finished(&self) -> Option<(Instant, usize)> {
        let mut log = self.log();
        log.drop_oldest_events(self.bounds);
        log.finished.map(|at| (at, log.kept_bytes))
    }

    /// Returns `true` if the client can resume the stream.
    pub(crate) fn is_resumable(&self) -> bool {
        self.properties.resumption > Resumption::Never
    }

    /// Returns `true` if entries must be stored and no task is storing them yet. The caller must then store them.
    pub(crate) fn begin_storing(&self) -> bool {
        self.properties.is_stored && !std::mem::replace(&mut self.log().is_storing, true)
    }

    /// Waits for the entry at a position. Returns `None` if it has already been dropped.
    pub(crate) fn poll_entry(
        &self,
        position: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Option<StreamEntry>> {
        let mut log = self.log();
        if position == 0 {
            return Poll::Ready(Some(StreamEntry::Opened));
        }
        if position < log.next {
            let event = log.event(position).cloned();
            return Poll::Ready(event.map(StreamEntry::Message));
        }
        if log.awaited == 0 {
            return Poll::Ready(Some(StreamEntry::Ended));
        }
        log.storer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Records that the entries before this position have been stored.
    pub(crate) fn mark_stored(&self, position: u64) {
        let mut log = self.log();
        log.stored = log.stored.max(position);
        log.is_store_away = false;
        log.drop_oldest_events(self.bounds);
        log.wake_reader();
    }

    /// Lets readers read events that have not been stored, until the next call of [`mark_stored`](Self::mark_stored).
    pub(crate) fn mark_store_away(&self) {
        let mut log = self.log();
        log.is_store_away = true;
        log.drop_oldest_events(self.bounds);
        log.wake_reader();
    }

    /// Returns the id of the event at a position.
    fn event_id(&self, position: u64) -> EventId<'_> {
        EventId {
            stream: self.number,
            position,
            request: self.request.as_deref(),
        }
    }

    /// Waits until the form of the response is known.
    pub(crate) fn poll_opening(&self, cx: &mut Context<'_>) -> Poll<ResponseStart> {
        let mut log = self.log();
        if log.has_notifications || (log.close_at.is_some() && log.awaited > 0) {
            return Poll::Ready(ResponseStart::Events);
        }
        if log.awaited == 0 {
            return Poll::Ready(ResponseStart::Answers(log.events.drain(..).collect()));
        }
        log.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns the position of the first unread event.
    pub(crate) fn first_unread(&self) -> u64 {
        let log = self.log();
        log.read.max(log.first)
    }
}

impl Sink for SessionStream {
    fn send(&self, message: &[u8]) -> bool {
        let mut log = self.log();
        if !self.properties.takes_events
            || log.awaited == 0
            || log.remaining_capacity(self.bounds) == 0
        {
            return false;
        }
        log.push_notification(message.into(), self.bounds);
        true
    }

    fn close_connection(&self) {
        if self.properties.takes_events && self.properties.resumption == Resumption::Primed {
            let mut log = self.log();
            log.close_at = Some(log.next);
            log.wake();
        }
    }
}

// Reads a session's stream from any position that is still kept.

impl SessionStream {
    /// Returns a reader for the events starting at `position`, or `None` if the event at `position` is no longer kept
    /// or `position` was never reached.
    pub(crate) fn new_reader(self: &Arc<Self>, position: u64) -> Option<StreamReader> {
        let mut log = self.log();
        let reader = self.replace_reader(&mut log, position)?;
        log.close_at = None;
        Some(reader)
    }

    /// Returns such a reader for a client that has no event of the stream yet. It first receives an event that contains
    /// only an id to resume from, if it understands that.
    pub(crate) fn new_primed_reader(self: &Arc<Self>, position: u64) -> Option<StreamReader> {
        let mut log = self.log();
        let mut reader = self.replace_reader(&mut log, position)?;
        if position > 1 {
            // The connection that the call wanted to close was an earlier one.
            log.close_at = None;
        }
        reader.primes = (self.properties.resumption == Resumption::Primed).then_some(0);
        Some(reader)
    }

    fn replace_reader(self: &Arc<Self>, log: &mut EventLog, position: u64) -> Option<StreamReader> {
        if position < log.first || position > log.next {
            return None;
        }
        log.reader = log.reader.wrapping_add(1);
        log.wake_reader();
        Some(StreamReader {
            stream: Arc::clone(self),
            me: log.reader,
            position,
            primes: None,
        })
    }
}

/// A reader for a stream.
pub(crate) struct StreamReader {
    pub(crate) stream: Arc<SessionStream>,
    me: u64,
    position: u64,
    /// The position of the event whose id is sent first, in an event that contains nothing else.
    primes: Option<u64>,
}

impl StreamReader {
    /// Sends the id of the last event that the client has received once more, before anything else. Some clients only
    /// remember ids that they have received on the present connection, which may also be cut.
    pub(crate) fn repeating_last_id(mut self) -> Self {
        self.primes = self.position.checked_sub(1);
        self
    }

    /// Returns `true` if there is no newer reader.
    pub(crate) fn is_current(&self) -> bool {
        self.stream.log().reader == self.me
    }

    /// Appends the available events. `Ended` means that the connection ends, although the stream may continue.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> StreamStatus {
        let stream = &self.stream;
        let mut log = stream.log();
        if log.reader != self.me {
            return StreamStatus::Ended;
        }
        if let Some(position) = self.primes
            && log.readable() > 0
        {
            self.primes = None;
            response::write_priming_event(out, stream.event_id(position));
        }
        let end = log.close_at.unwrap_or(log.next).min(log.next);
        while self.position < end.min(log.readable()) && out.len() < MAX_POLLED_BYTES {
            let Some(event) = log.event(self.position) else {
                // The event was dropped; only events that have already been read can be dropped.
                return StreamStatus::Ended;
            };
            let id = stream
                .is_resumable()
                .then(|| stream.event_id(self.position));
            response::write_event(out, id, "message", event);
            let size = event.len();
            self.position = self.position.saturating_add(1);
            if self.position > log.read {
                log.read = self.position;
                log.unread_bytes = log.unread_bytes.saturating_sub(size);
            }
        }
        log.drop_oldest_events(stream.bounds);
        if self.position >= end && log.close_at.is_some() && self.primes.is_none() {
            log.close_at = None;
            return StreamStatus::Ended;
        }
        if self.position >= log.next && log.awaited == 0 {
            return StreamStatus::Ended;
        }
        if out.is_empty() {
            log.waker = Some(cx.waker().clone());
        }
        StreamStatus::Open
    }
}

// --- A stream's bounded log: events that have been sent, events still to be sent, and the reader's position.

/// Limits for a log: the size of unread events, and the number and size of the events kept for a client that
/// reconnects.
#[derive(Clone, Copy)]
pub(super) struct EventLogBounds {
    pub(super) outgoing: usize,
    pub(super) events: usize,
    pub(super) bytes: usize,
}

/// The events in a single stream.
pub(super) struct EventLog {
    pub(super) events: VecDeque<Arc<[u8]>>,
    /// Positions of the first event that is still kept and of the next event. The priming event has position 0.
    pub(super) first: u64,
    pub(super) next: u64,
    /// Position up to which events have been stored, or the maximum if the stream's events are not stored.
    pub(super) stored: u64,
    /// Set while the store fails. Events can then be read before they have been stored.
    pub(super) is_store_away: bool,
    /// Position up to which events have been read.
    pub(super) read: u64,
    pub(super) kept_bytes: usize,
    /// Counts the kept bytes.
    charge: Charge,
    pub(super) unread_bytes: usize,
    /// Number of answers that have not been sent yet. For a standalone stream, this is never zero until the stream
    /// ends.
    pub(super) awaited: usize,
    /// Set once a message other than an answer has been sent.
    pub(super) has_notifications: bool,
    /// Position at which to close the connection.
    pub(super) close_at: Option<u64>,
    /// Time of the last answer.
    pub(super) finished: Option<Instant>,
    /// Serial number of the current reader.
    pub(super) reader: u64,
    pub(super) waker: Option<Waker>,
    /// Set once a task is storing the events.
    pub(super) is_storing: bool,
    /// Waker for the task that stores the events.
    pub(super) storer: Option<Waker>,
}

impl EventLogBounds {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            outgoing: limits.streams.max_outgoing_bytes,
            events: limits.streams.max_replay_events.max(1),
            bytes: limits.streams.max_replay_bytes,
        }
    }
}

impl EventLog {
    /// Creates a log for a stream that will carry `awaited` answers. If `is_stored` is `true`, events can be read only
    /// after they have been stored for other instances.
    pub(super) fn new(awaited: usize, is_stored: bool, charge: Charge) -> Self {
        Self {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            stored: if is_stored { 0 } else { u64::MAX },
            is_store_away: false,
            read: 1,
            kept_bytes: 0,
            charge,
            unread_bytes: 0,
            awaited,
            has_notifications: false,
            close_at: None,
            finished: None,
            reader: 0,
            waker: None,
            is_storing: false,
            storer: None,
        }
    }

    pub(super) fn remaining_capacity(&mut self, bounds: EventLogBounds) -> usize {
        if self.charge.is_within_share() {
            bounds.outgoing.saturating_sub(self.unread_bytes)
        } else {
            0
        }
    }

    /// Appends a message other than an answer, with which the response becomes an event stream.
    fn push_notification(&mut self, message: Arc<[u8]>, bounds: EventLogBounds) {
        self.has_notifications = true;
        self.push(message, bounds);
    }

    fn push(&mut self, message: Arc<[u8]>, bounds: EventLogBounds) {
        self.next = self.next.saturating_add(1);
        self.kept_bytes = self.kept_bytes.saturating_add(message.len());
        self.unread_bytes = self.unread_bytes.saturating_add(message.len());
        self.events.push_back(message);
        self.drop_oldest_events(bounds);
        self.wake();
    }

    fn settle_answer(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
        if self.awaited == 0 {
            self.finish();
        }
    }

    pub(super) fn finish(&mut self) {
        self.finished.get_or_insert_with(Instant::now);
        self.wake();
    }

    pub(super) fn wake(&mut self) {
        self.wake_reader();
        if let Some(waker) = self.storer.take() {
            waker.wake();
        }
    }

    fn wake_reader(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Returns the position up to which events may be read.
    pub(super) fn readable(&self) -> u64 {
        if self.is_store_away {
            self.next
        } else {
            self.stored
        }
    }

    /// Returns the event at a position, if it is still kept.
    pub(super) fn event(&self, position: u64) -> Option<&Arc<[u8]>> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.events.get(index)
    }

    /// While the limits for reconnecting clients are exceeded, or there is little room for the events of all clients,
    /// drops the oldest events, but only if they have been read, and stored unless the store is away.
    fn drop_oldest_events(&mut self, bounds: EventLogBounds) {
        self.charge.resize(self.kept_bytes);
        while self.first < self.read.min(self.readable())
            && (self.events.len() > bounds.events
                || self.kept_bytes > bounds.bytes
                || self.charge.is_scarce())
        {
            let Some(event) = self.events.pop_front() else {
                break;
            };
            self.first = self.first.saturating_add(1);
            self.kept_bytes = self.kept_bytes.saturating_sub(event.len());
            self.charge.resize(self.kept_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_core::budget::{ByteBudget, Holder};

    use crate::streams::*;

    #[test]
    fn kept_events_count_towards_the_budget_and_are_dropped_when_it_is_low() {
        let budget = ByteBudget::new(100);
        let bounds = EventLogBounds::new(&Limits::default());
        let mut log = EventLog::new(1, false, budget.charge(&Holder::Anonymous(None)));
        let push = |log: &mut EventLog| log.push([0; 10].as_slice().into(), bounds);
        for kept in 1..=5 {
            assert!(log.remaining_capacity(bounds) > 0);
            push(&mut log);
            assert_eq!(budget.held(), kept * 10);
        }
        // Events that have been read are kept for clients that reconnect, but only while half of the room is free.
        log.read = 3;
        log.drop_oldest_events(bounds);
        assert_eq!((log.first, budget.held()), (1, 50));
        push(&mut log);
        assert_eq!((log.first, budget.held()), (2, 50));
        // Unread events are kept in any case, and further ones wait.
        log.read = 2;
        push(&mut log);
        assert_eq!((log.first, budget.held()), (2, 60));
        assert_eq!(log.remaining_capacity(bounds), 0);
        drop(log);
        assert_eq!(budget.held(), 0);
    }
}

#[cfg(test)]
mod stream_reader_tests {
    use mcp_core::budget::{ByteBudget, Holder};
    use mcp_core::limits::Limits;

    use crate::streams::{StreamProperties, *};

    #[test]
    fn an_event_is_delivered_once_it_has_been_both_read_and_stored() {
        let properties = StreamProperties {
            takes_events: true,
            resumption: Resumption::ById,
            is_stored: true,
        };
        let charge = ByteBudget::new(1_000).charge(&Holder::Anonymous(None));
        let stream = SessionStream::new(2, properties, 1, &Limits::default(), charge);
        let stream = Arc::new(stream);
        stream.push(b"{}".as_slice().into());
        let mut reader = stream.new_reader(1).unwrap();
        let mut read = || {
            let mut out = Vec::new();
            reader.poll(&mut Context::from_waker(std::task::Waker::noop()), &mut out);
            !out.is_empty()
        };
        assert!(!read(), "it has not been stored");
        stream.mark_store_away();
        assert!(read());
        assert!(!stream.is_delivered());
        stream.mark_stored(2);
        assert!(stream.is_delivered());
        stream.push(b"{}".as_slice().into());
        assert!(!read(), "the store is back");
        stream.mark_stored(3);
        assert!(!stream.is_delivered());
        assert!(read());
        assert!(stream.is_delivered());
    }
}
