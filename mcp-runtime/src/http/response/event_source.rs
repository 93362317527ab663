//! Sources of events: everything that sends a response piece by piece.

use std::task::Context;

/// Maximum number of bytes of events to append at once.
pub(in crate::http) const MAX_POLLED_BYTES: usize = 64 << 10;

/// The source of a response's events. Dropped when the client disconnects.
pub(in crate::http) trait EventSource: Send {
    /// Appends the events that are available. If there are none and the stream continues, the task is woken when there
    /// are. Also called when `is_stopping` becomes `true`: the server was told to stop.
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus;
}

/// The state of an event stream after its events were appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum StreamStatus {
    /// More events may follow.
    Open,
    /// The events that were appended are the last ones.
    Ended,
}
