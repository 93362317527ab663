//! One stream of a session: events that were sent, events to be sent, and the reader.
//!
//! A stream outlives the connection that carries it. Unread events are kept until they are read; events that were read are
//! kept for a while, for a client that lost its connection and reconnects. Both are bounded. The newest reader wins: an
//! older one ends. Events that are stored for other instances can be read only once they are stored.
//!
//! Specification: 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use super::event_store::StreamEntry;
use super::events;
use crate::dispatch::Sink;
use crate::limits::Limits;

/// Returns `true` if the stream with this number is standalone: no request opened it, it awaits no answer, and it ends with
/// its session.
pub(super) const fn is_standalone(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// Maximum number of bytes of events to produce at once.
const ROOM: usize = 64 << 10;

/// One stream of a session.
pub(super) struct SessionStream {
    pub(super) number: u64,
    /// `true` if its call runs at another instance.
    pub(super) is_copy: bool,
    manner: Manner,
    bounds: Bounds,
    log: Mutex<EventLog>,
}

/// The properties of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// `true` if its client accepts events; if not, only answers are kept.
    pub(super) takes_events: bool,
    pub(super) resuming: Resuming,
    /// `true` if its events are stored for other instances.
    pub(super) stored: bool,
}

/// Support for resuming a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resuming {
    /// A client cannot resume it.
    Never,
    /// A client can resume it after an event, by its id.
    ById,
    /// In addition, the stream begins with an event that only has an id (2025-11-25 and later).
    Primed,
}

#[derive(Clone, Copy)]
struct Bounds {
    outgoing: usize,
    events: usize,
    bytes: usize,
}

struct EventLog {
    events: VecDeque<Arc<[u8]>>,
    /// Position of the first event that is kept, and of the next event. Position 0 is that of the priming event.
    first: u64,
    next: u64,
    /// Position up to which events may be read because they are stored; the maximum if events are not stored at all.
    stored: u64,
    /// Position up to which events were read.
    read: u64,
    kept_bytes: usize,
    unread_bytes: usize,
    /// Number of answers still to come. Never zero for a standalone stream, until it ends.
    awaited: usize,
    /// Set once a message other than an answer was sent.
    has_notifications: bool,
    /// Position at which the connection is to be closed.
    close_at: Option<u64>,
    /// Time of the last answer.
    finished: Option<Instant>,
    /// Number of the current reader.
    reader: u64,
    waker: Option<Waker>,
    /// Set once a task stores the events.
    is_storing: bool,
    /// Waker of that task.
    storer: Option<Waker>,
}

/// The form of the response to a request.
pub(super) enum ResponseStart {
    /// An event stream.
    Events,
    /// All answers, without other messages. Empty if the request was cancelled.
    Answers(Vec<Arc<[u8]>>),
}

impl SessionStream {
    /// Creates a stream for `awaited` answers.
    pub(super) fn new(number: u64, manner: Manner, awaited: usize, limits: &Limits) -> Self {
        let bounds = Bounds {
            outgoing: limits.streams.max_outgoing_bytes,
            events: limits.streams.max_replay_events.max(1),
            bytes: limits.streams.max_replay_bytes,
        };
        let log = EventLog {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            stored: if manner.stored { 0 } else { u64::MAX },
            read: 1,
            kept_bytes: 0,
            unread_bytes: 0,
            awaited,
            has_notifications: false,
            close_at: None,
            finished: None,
            reader: 0,
            waker: None,
            is_storing: false,
            storer: None,
        };
        Self {
            number,
            manner,
            is_copy: false,
            bounds,
            log: Mutex::new(log),
        }
    }

    /// Creates a copy of a stream whose call runs at another instance, for the events after a position.
    pub(super) fn copy(number: u64, after: u64, limits: &Limits) -> Self {
        let manner = Manner {
            takes_events: true,
            resuming: Resuming::ById,
            stored: false,
        };
        let mut stream = Self::new(number, manner, 1, limits);
        stream.is_copy = true;
        let next = after.saturating_add(1);
        let mut log = stream.log();
        (log.first, log.next, log.read) = (next, next, next);
        drop(log);
        stream
    }

    fn log(&self) -> MutexGuard<'_, EventLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an answer. It is always accepted: it was requested, and its size is bounded.
    pub(super) fn answer(&self, message: &[u8]) {
        let mut log = self.log();
        log.push(message.into(), true, self.bounds);
        if !is_standalone(self.number) {
            log.settle();
        }
    }

    /// Queues a message that was sent at another instance, or for which there is [room](Self::room).
    pub(super) fn push(&self, message: Arc<[u8]>) {
        self.log().push(message, false, self.bounds);
    }

    /// Records that one answer will not come.
    pub(super) fn give_up(&self) {
        if !is_standalone(self.number) {
            self.log().settle();
        }
    }

    /// Ends the stream: no more answers will come.
    pub(super) fn end(&self) {
        let mut log = self.log();
        log.awaited = 0;
        log.finish();
    }

    /// Returns `true` if the maximum number of bytes waits to be read.
    pub(super) fn is_full(&self) -> bool {
        self.log().room(self.bounds) == 0
    }

    /// Returns the number of bytes that may be added to those that wait to be read; zero once the stream has ended.
    pub(super) fn room(&self) -> usize {
        let log = self.log();
        match log.awaited {
            0 => 0,
            _ => log.room(self.bounds),
        }
    }

    /// Returns the number of bytes that wait to be read.
    #[cfg(test)]
    pub(super) fn unread(&self) -> usize {
        self.log().unread_bytes
    }

    /// Returns the time of the last answer, and the number of bytes kept for clients that reconnect; `None` if answers are
    /// still to come.
    pub(super) fn finished(&self) -> Option<(Instant, usize)> {
        let log = self.log();
        log.finished.map(|at| (at, log.kept_bytes))
    }

    /// Returns `true` if its client can resume it.
    pub(super) fn is_resumable(&self) -> bool {
        self.manner.resuming > Resuming::Never
    }

    /// Returns `true` if entries are to be stored and no task does so yet. The caller must do so from now on.
    pub(super) fn begin_storing(&self) -> bool {
        self.manner.stored && !std::mem::replace(&mut self.log().is_storing, true)
    }

    /// Waits for the entry at a position. `None` if it was dropped already.
    pub(super) fn poll_entry(&self, place: u64, cx: &mut Context<'_>) -> Poll<Option<StreamEntry>> {
        let mut log = self.log();
        if place == 0 {
            return Poll::Ready(Some(StreamEntry::Opened));
        }
        if place < log.next {
            let event = log.event(place).cloned();
            return Poll::Ready(event.map(StreamEntry::Message));
        }
        if log.awaited == 0 {
            return Poll::Ready(Some(StreamEntry::Ended));
        }
        log.storer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Records that the entries before this position are stored, or need not be waited for.
    pub(super) fn stored(&self, place: u64) {
        let mut log = self.log();
        log.stored = log.stored.max(place);
        log.forget(self.bounds);
        log.wake_reader();
    }

    /// Waits until the form of the response is decided.
    pub(super) fn poll_opening(&self, cx: &mut Context<'_>) -> Poll<ResponseStart> {
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

    /// Returns a reader of the events from `place` on. `None` if the event at `place` is no longer kept, or `place` was never
    /// reached.
    pub(super) fn reader(self: &Arc<Self>, place: u64, primes: bool) -> Option<StreamReader> {
        let mut log = self.log();
        if place < log.first || place > log.next {
            return None;
        }
        log.reader = log.reader.wrapping_add(1);
        if place > 1 || !primes {
            log.close_at = None;
        }
        if let Some(waker) = log.waker.take() {
            waker.wake();
        }
        Some(StreamReader {
            stream: Arc::clone(self),
            me: log.reader,
            place,
            primes: primes && self.manner.resuming == Resuming::Primed,
        })
    }

    /// Returns the position of the first unread event.
    pub(super) fn unread_place(&self) -> u64 {
        let log = self.log();
        log.read.max(log.first)
    }
}

impl EventLog {
    fn room(&self, bounds: Bounds) -> usize {
        bounds.outgoing.saturating_sub(self.unread_bytes)
    }

    fn push(&mut self, message: Arc<[u8]>, is_answer: bool, bounds: Bounds) {
        self.has_notifications |= !is_answer;
        self.next = self.next.saturating_add(1);
        self.kept_bytes = self.kept_bytes.saturating_add(message.len());
        self.unread_bytes = self.unread_bytes.saturating_add(message.len());
        self.events.push_back(message);
        self.forget(bounds);
        self.wake();
    }

    fn settle(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
        if self.awaited == 0 {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.finished.get_or_insert_with(Instant::now);
        self.wake();
    }

    fn wake(&mut self) {
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

    /// Returns the event at a position, if it is kept.
    fn event(&self, place: u64) -> Option<&Arc<[u8]>> {
        let index = usize::try_from(place.checked_sub(self.first)?).ok()?;
        self.events.get(index)
    }

    /// Drops the oldest events that were read and stored, when the limits for clients that reconnect are exceeded.
    fn forget(&mut self, bounds: Bounds) {
        while self.first < self.read.min(self.stored)
            && (self.events.len() > bounds.events || self.kept_bytes > bounds.bytes)
        {
            let Some(event) = self.events.pop_front() else {
                break;
            };
            self.first = self.first.saturating_add(1);
            self.kept_bytes = self.kept_bytes.saturating_sub(event.len());
        }
    }
}

impl Sink for SessionStream {
    fn send(&self, message: &[u8]) -> bool {
        let mut log = self.log();
        if !self.manner.takes_events || log.awaited == 0 || log.room(self.bounds) == 0 {
            return false;
        }
        log.push(message.into(), false, self.bounds);
        true
    }

    fn close_connection(&self) {
        if self.manner.takes_events && self.manner.resuming == Resuming::Primed {
            let mut log = self.log();
            log.close_at = Some(log.next);
            log.wake();
        }
    }
}

/// A reader of a stream.
pub(super) struct StreamReader {
    pub(super) stream: Arc<SessionStream>,
    me: u64,
    place: u64,
    primes: bool,
}

impl StreamReader {
    /// Returns `true` if there is no newer reader.
    pub(super) fn is_current(&self) -> bool {
        self.stream.log().reader == self.me
    }

    /// Appends the available events; `false` means that the connection ends.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        let stream = &self.stream;
        let mut log = stream.log();
        if log.reader != self.me {
            return Poll::Ready(false);
        }
        if self.primes && log.stored > 0 {
            self.primes = false;
            events::write_priming(out, (stream.number, 0));
        }
        let end = log.close_at.unwrap_or(log.next).min(log.next);
        while self.place < end.min(log.stored) && out.len() < ROOM {
            let Some(event) = log.event(self.place) else {
                // Dropped, which never happens to unread events.
                return Poll::Ready(false);
            };
            let id = stream.is_resumable().then_some((stream.number, self.place));
            events::write(out, id, "message", event);
            let size = event.len();
            self.place = self.place.saturating_add(1);
            if self.place > log.read {
                log.read = self.place;
                log.unread_bytes = log.unread_bytes.saturating_sub(size);
            }
        }
        log.forget(stream.bounds);
        if self.place >= end && log.close_at.is_some() && !self.primes {
            log.close_at = None;
            return Poll::Ready(false);
        }
        if self.place >= log.next && log.awaited == 0 {
            return Poll::Ready(false);
        }
        if !out.is_empty() {
            return Poll::Ready(true);
        }
        log.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
