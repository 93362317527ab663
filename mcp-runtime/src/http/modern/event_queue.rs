//! Messages that a call sends before its answer.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

use crate::budget::LazyCharge;
use crate::dispatch::Sink;
use crate::http::response::sse;
use crate::lock::lock;

/// Messages that a call sends before its answer.
pub(super) struct EventQueue {
    /// `true` if the client accepts events; otherwise, nothing is sent before the answer.
    takes_events: bool,
    max_bytes: usize,
    state: Mutex<QueuedMessages>,
}

struct QueuedMessages {
    charge: LazyCharge,
    messages: VecDeque<Box<[u8]>>,
    bytes: usize,
    waker: Option<Waker>,
}

impl EventQueue {
    pub(super) fn new(takes_events: bool, max_bytes: usize, charge: LazyCharge) -> Self {
        Self {
            takes_events,
            max_bytes,
            state: Mutex::new(QueuedMessages {
                charge,
                messages: VecDeque::new(),
                bytes: 0,
                waker: None,
            }),
        }
    }

    fn lock_messages(&self) -> MutexGuard<'_, QueuedMessages> {
        lock(&self.state)
    }

    /// Sets the waker of the task to wake when a message is queued.
    pub(super) fn set_waker(&self, waker: &Waker) {
        let mut state = self.lock_messages();
        if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock_messages().messages.is_empty()
    }

    /// Appends the messages as events and removes them from the queue.
    pub(super) fn drain_into(&self, out: &mut Vec<u8>) {
        let mut state = self.lock_messages();
        state.bytes = 0;
        state.charge.resize(0);
        for message in state.messages.drain(..) {
            sse::write_event(out, None, "message", &message);
        }
    }
}

impl Sink for EventQueue {
    fn send(&self, message: &[u8]) -> bool {
        let mut state = self.lock_messages();
        if !self.takes_events || state.bytes >= self.max_bytes {
            return false;
        }
        let bytes = state.bytes.saturating_add(message.len());
        if !state.charge.try_resize(bytes) {
            return false;
        }
        state.bytes = bytes;
        state.messages.push_back(message.into());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        true
    }
}
