//! The response to `subscriptions/listen`: a stream of change notifications.

use std::sync::Arc;
use std::task::Context;

use crate::bell::Bell;
use crate::context::Caller;
use crate::dispatch::{Dispatcher, ListenRequest};
use crate::http::response::body::{EventSource, MAX_POLLED_BYTES, StreamStatus};
use crate::http::response::sse;
use crate::http::timers::{ExpiryTimer, ValidUntil};

/// The events sent in response to `subscriptions/listen`: the acknowledgement, then changes, and finally the answer,
/// which is sent when the server stops or the caller's credentials expire.
pub(super) struct ListenEvents {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) listen: ListenRequest,
    pub(super) caller: Caller,
    /// Rings when changes are available.
    pub(super) bell: Arc<Bell>,
    pub(super) acknowledgement: Vec<u8>,
    pub(super) until: ValidUntil,
    pub(super) expiry: ExpiryTimer,
}

impl EventSource for ListenEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus {
        if !self.acknowledgement.is_empty() {
            let acknowledgement = std::mem::take(&mut self.acknowledgement);
            sse::write_event(out, None, "message", &acknowledgement);
        }
        // Register before draining, because only the first change after a drain rings the bell.
        self.bell.register(cx.waker());
        let mut lines = Vec::new();
        self.listen
            .drain(&mut lines, MAX_POLLED_BYTES, &self.caller);
        let is_over = is_stopping || self.expiry.poll(self.until, cx);
        if is_over {
            self.listen.complete(&mut lines, self.dispatcher.identity());
        }
        for message in sse::split_messages(&lines) {
            sse::write_event(out, None, "message", message);
        }
        if is_over {
            StreamStatus::Ended
        } else {
            StreamStatus::Open
        }
    }
}
