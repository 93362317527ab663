//! One stream of a session: what was sent on it, what is still to be sent, and who reads it.
//!
//! A stream outlives the connection that carries it. What has not been read is kept until somebody reads it; what has been
//! read is kept for a while, for a client that lost its connection and comes back. Both are bounded. The newest reader
//! wins: an older one ends.
//!
//! Specification: 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use super::events;
use crate::dispatch::Sink;
use crate::limits::Limits;

/// The number of the stream that no request opened. It awaits no answer, and ends with its session.
pub(super) const STANDALONE: u64 = 0;

/// How many bytes of events are made at once.
const ROOM: usize = 64 << 10;

/// One stream of a session.
pub(super) struct Stream {
    pub(super) number: u64,
    /// Whether its client was told to resume by an event of its own (2025-11-25 and later).
    pub(super) primed: bool,
    /// Whether its client takes events; if not, only answers are kept.
    takes_events: bool,
    bounds: Bounds,
    log: Mutex<Log>,
}

#[derive(Clone, Copy)]
struct Bounds {
    outgoing: usize,
    events: usize,
    bytes: usize,
}

struct Log {
    events: VecDeque<Box<[u8]>>,
    /// The place of the first event that is kept, and of the next one to come. Place 0 is the priming event's.
    first: u64,
    next: u64,
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
}

/// How the response to a request begins.
pub(super) enum Opening {
    /// With events.
    Events,
    /// With all answers, and nothing else was said. None if the request was taken back.
    Answers(Vec<Box<[u8]>>),
}

impl Stream {
    /// A stream on which `awaited` answers will come.
    pub(super) fn new(
        number: u64,
        primed: bool,
        takes_events: bool,
        awaited: usize,
        limits: &Limits,
    ) -> Self {
        let bounds = Bounds {
            outgoing: limits.outgoing,
            events: limits.replay_events.max(1),
            bytes: limits.replay_bytes,
        };
        let log = Log {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            read: 1,
            kept_bytes: 0,
            unread_bytes: 0,
            awaited,
            has_notices: false,
            close_at: None,
            finished: None,
            reader: 0,
            waker: None,
        };
        Self {
            number,
            primed,
            takes_events,
            bounds,
            log: Mutex::new(log),
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an answer. It is always taken: it was asked for, and its size is bounded.
    pub(super) fn answer(&self, message: &[u8]) {
        let mut log = self.log();
        log.push(message, true, self.bounds);
        if self.number != STANDALONE {
            log.settle();
        }
    }

    /// One answer will not come.
    pub(super) fn give_up(&self) {
        if self.number != STANDALONE {
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
        self.log().unread_bytes >= self.bounds.outgoing
    }

    /// When the last answer came, and how many bytes are kept for clients that come back.
    pub(super) fn finished(&self) -> Option<(Instant, usize)> {
        let log = self.log();
        log.finished.map(|at| (at, log.kept_bytes))
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
            primes: primes && self.primed,
            format: Format::Resumable,
        })
    }

    /// The place of the first event that nobody has read.
    pub(super) fn unread_place(&self) -> u64 {
        let log = self.log();
        log.read.max(log.first)
    }
}

impl Log {
    fn push(&mut self, message: &[u8], is_answer: bool, bounds: Bounds) {
        self.events.push_back(message.into());
        self.has_notices |= !is_answer;
        self.next = self.next.saturating_add(1);
        self.kept_bytes = self.kept_bytes.saturating_add(message.len());
        self.unread_bytes = self.unread_bytes.saturating_add(message.len());
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
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Forgets the oldest events that were read, beyond what is kept for clients that come back.
    fn forget(&mut self, bounds: Bounds) {
        while self.first < self.read
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
        if !self.takes_events || log.awaited == 0 || log.unread_bytes >= self.bounds.outgoing {
            return false;
        }
        log.push(message, false, self.bounds);
        true
    }

    fn close_connection(&self) {
        if self.takes_events && self.primed {
            let mut log = self.log();
            log.close_at = Some(log.next);
            log.wake();
        }
    }
}

/// How events are written.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    /// With ids.
    Resumable,
    /// Without: there is nothing to come back to.
    Plain,
}

/// Who reads a stream.
pub(super) struct Reader {
    pub(super) stream: Arc<Stream>,
    me: u64,
    place: u64,
    primes: bool,
    format: Format,
}

impl Reader {
    /// Writes no ids.
    pub(super) fn plain(mut self) -> Self {
        self.format = Format::Plain;
        self
    }

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
        if std::mem::take(&mut self.primes) {
            events::write_priming(out, (stream.number, 0));
        }
        let end = log.close_at.unwrap_or(log.next).min(log.next);
        while self.place < end && out.len() < ROOM {
            let index = self.place.saturating_sub(log.first);
            let event = usize::try_from(index)
                .ok()
                .and_then(|index| log.events.get(index));
            let Some(event) = event else {
                // Forgotten, which happens to nothing that was not read.
                return Poll::Ready(false);
            };
            let id = (self.format == Format::Resumable).then_some((stream.number, self.place));
            events::write(out, id, "message", event);
            let size = event.len();
            self.place = self.place.saturating_add(1);
            if self.place > log.read {
                log.read = self.place;
                log.unread_bytes = log.unread_bytes.saturating_sub(size);
            }
        }
        log.forget(stream.bounds);
        if self.place >= end && log.close_at.is_some() {
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
