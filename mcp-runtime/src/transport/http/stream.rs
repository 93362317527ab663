//! One stream of a session: what was sent on it, what is still to be sent, and who reads it.
//!
//! A stream outlives the connection that carries it. What has not been read is kept until somebody reads it; what has been
//! read is kept for a while, for a client that lost its connection and comes back. Both are bounded. The newest reader
//! wins: an older one ends. Events that are stored for other instances are read after that.
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

/// Whether a stream of this number was opened by no request. It awaits no answer, and ends with its session.
pub(super) const fn is_standalone(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// How many bytes of events are made at once.
const ROOM: usize = 64 << 10;

/// One stream of a session.
pub(super) struct Stream {
    pub(super) number: u64,
    /// Whether its call runs at another instance.
    pub(super) is_copy: bool,
    manner: Manner,
    bounds: Bounds,
    log: Mutex<Log>,
}

/// What a stream is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Whether its client takes events; if not, only answers are kept.
    pub(super) takes_events: bool,
    pub(super) resuming: Resuming,
    /// Whether its events are stored for other instances.
    pub(super) stored: bool,
}

/// Whether a client can come back to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resuming {
    /// It cannot.
    Never,
    /// By the ids of events.
    ById,
    /// And it is told so by an event of its own (2025-11-25 and later).
    Primed,
}

#[derive(Clone, Copy)]
struct Bounds {
    outgoing: usize,
    events: usize,
    bytes: usize,
}

struct Log {
    events: VecDeque<Arc<[u8]>>,
    /// The place of the first event that is kept, and of the next one to come. Place 0 is the priming event's.
    first: u64,
    next: u64,
    /// The place up to which events may be read, because they were stored; the last possible one if none are.
    stored: u64,
    /// The place up to which events were read.
    read: u64,
    kept_bytes: usize,
    unread_bytes: usize,
    /// Answers that are still to come. A stream without a request never has none.
    awaited: usize,
    /// Something besides answers was sent.
    has_notices: bool,
    /// Where the connection is to be closed.
    close_at: Option<u64>,
    /// When the last answer came.
    finished: Option<Instant>,
    /// Which reader may read.
    reader: u64,
    waker: Option<Waker>,
    /// Whether somebody stores what comes, and whom to wake for it.
    is_storing: bool,
    storer: Option<Waker>,
}

/// How the response to a request begins.
pub(super) enum Opening {
    /// With events.
    Events,
    /// With all answers, and nothing else was said. None if the request was taken back.
    Answers(Vec<Arc<[u8]>>),
}

impl Stream {
    /// A stream on which `awaited` answers will come.
    pub(super) fn new(number: u64, manner: Manner, awaited: usize, limits: &Limits) -> Self {
        let bounds = Bounds {
            outgoing: limits.outgoing,
            events: limits.replay_events.max(1),
            bytes: limits.replay_bytes,
        };
        let log = Log {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            stored: if manner.stored { 0 } else { u64::MAX },
            read: 1,
            kept_bytes: 0,
            unread_bytes: 0,
            awaited,
            has_notices: false,
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

    /// What is left, after a place, of a stream whose call runs at another instance.
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

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an answer. It is always taken: it was asked for, and its size is bounded.
    pub(super) fn answer(&self, message: &[u8]) {
        let mut log = self.log();
        log.push(message.into(), true, self.bounds);
        if !is_standalone(self.number) {
            log.settle();
        }
    }

    /// Queues what was sent at another instance, or what there was [room](Self::room) for.
    pub(super) fn push(&self, message: Arc<[u8]>) {
        self.log().push(message, false, self.bounds);
    }

    /// One answer will not come.
    pub(super) fn give_up(&self) {
        if !is_standalone(self.number) {
            self.log().settle();
        }
    }

    /// No more answers will come.
    pub(super) fn end(&self) {
        let mut log = self.log();
        log.awaited = 0;
        log.finish();
    }

    /// Whether more is waiting to be read than should be.
    pub(super) fn is_full(&self) -> bool {
        self.log().room(self.bounds) == 0
    }

    /// The bytes that may still be added to those that wait to be read; zero once it has ended.
    pub(super) fn room(&self) -> usize {
        let log = self.log();
        match log.awaited {
            0 => 0,
            _ => log.room(self.bounds),
        }
    }

    /// The bytes that wait to be read.
    #[cfg(test)]
    pub(super) fn unread(&self) -> usize {
        self.log().unread_bytes
    }

    /// When the last answer came, and how many bytes are kept for clients that come back.
    pub(super) fn finished(&self) -> Option<(Instant, usize)> {
        let log = self.log();
        log.finished.map(|at| (at, log.kept_bytes))
    }

    /// Whether its client can come back to it.
    pub(super) fn is_resumable(&self) -> bool {
        self.manner.resuming > Resuming::Never
    }

    /// Whether entries are to be stored, and nobody does so yet. Whoever asks does from now on.
    pub(super) fn begin_storing(&self) -> bool {
        self.manner.stored && !std::mem::replace(&mut self.log().is_storing, true)
    }

    /// Waits for the entry at a place. None if it is forgotten already.
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

    /// What comes before this place is stored, or need not be waited for.
    pub(super) fn stored(&self, place: u64) {
        let mut log = self.log();
        log.stored = log.stored.max(place);
        log.forget(self.bounds);
        log.wake_reader();
    }

    /// Waits until it is known how the response begins.
    pub(super) fn poll_opening(&self, cx: &mut Context<'_>) -> Poll<Opening> {
        let mut log = self.log();
        if log.has_notices || (log.close_at.is_some() && log.awaited > 0) {
            return Poll::Ready(Opening::Events);
        }
        if log.awaited == 0 {
            return Poll::Ready(Opening::Answers(log.events.drain(..).collect()));
        }
        log.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// A reader from `place` on. None if what comes next there is no longer kept, or never was.
    pub(super) fn reader(self: &Arc<Self>, place: u64, primes: bool) -> Option<Reader> {
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
        Some(Reader {
            stream: Arc::clone(self),
            me: log.reader,
            place,
            primes: primes && self.manner.resuming == Resuming::Primed,
        })
    }

    /// The place of the first event that nobody has read.
    pub(super) fn unread_place(&self) -> u64 {
        let log = self.log();
        log.read.max(log.first)
    }
}

impl Log {
    fn room(&self, bounds: Bounds) -> usize {
        bounds.outgoing.saturating_sub(self.unread_bytes)
    }

    fn push(&mut self, message: Arc<[u8]>, is_answer: bool, bounds: Bounds) {
        self.has_notices |= !is_answer;
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

    /// The event at a place, if it is there.
    fn event(&self, place: u64) -> Option<&Arc<[u8]>> {
        let index = usize::try_from(place.checked_sub(self.first)?).ok()?;
        self.events.get(index)
    }

    /// Forgets the oldest events that were read and stored, beyond what is kept for clients that come back.
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

impl Sink for Stream {
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

/// Who reads a stream.
pub(super) struct Reader {
    pub(super) stream: Arc<Stream>,
    me: u64,
    place: u64,
    primes: bool,
}

impl Reader {
    /// Whether no newer reader came.
    pub(super) fn is_current(&self) -> bool {
        self.stream.log().reader == self.me
    }

    /// Appends what there is; `false` says that the connection is over.
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
                // Forgotten, which happens to nothing that was not read.
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
