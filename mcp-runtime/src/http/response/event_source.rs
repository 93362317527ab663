//! Event sources, which produce a response incrementally.

use std::task::Context;

/// Maximum size of the events to append in a single poll, in bytes.
pub(in crate::http) const MAX_POLLED_BYTES: usize = 64 << 10;

/// The source of a response's events, which is dropped when the client disconnects.
pub(in crate::http) trait EventSource: Send {
    /// Appends the available events. If no events are available and the stream continues, the task is woken when more
    /// arrive. Also called when `is_stopping` becomes `true` because shutdown has begun.
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus;
}

/// The state of an event stream after its available events have been appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum StreamStatus {
    /// More events may follow.
    Open,
    /// No more events will follow.
    Ended,
}
