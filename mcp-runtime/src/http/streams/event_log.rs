//! A stream's bounded log: events that have been sent, events still to be sent, and the reader's position.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;

use crate::budget::Charge;
use crate::limits::Limits;

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

    pub(super) fn push(&mut self, message: Arc<[u8]>, is_answer: bool, bounds: EventLogBounds) {
        self.has_notifications |= !is_answer;
        self.next = self.next.saturating_add(1);
        self.kept_bytes = self.kept_bytes.saturating_add(message.len());
        self.unread_bytes = self.unread_bytes.saturating_add(message.len());
        self.events.push_back(message);
        self.drop_oldest_events(bounds);
        self.wake();
    }

    pub(super) fn settle_answer(&mut self) {
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

    pub(super) fn wake_reader(&mut self) {
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
    pub(super) fn drop_oldest_events(&mut self, bounds: EventLogBounds) {
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
    use super::*;
    use crate::budget::{ByteBudget, Holder};

    #[test]
    fn events_are_counted_as_long_as_they_are_kept_and_not_kept_if_there_is_little_room() {
        let budget = ByteBudget::new(100);
        let bounds = EventLogBounds::new(&Limits::default());
        let mut log = EventLog::new(1, false, budget.charge(&Holder::Anonymous(None)));
        let push = |log: &mut EventLog| log.push([0; 10].as_slice().into(), false, bounds);
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
