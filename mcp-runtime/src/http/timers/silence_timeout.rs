//! The time that a call may be silent before its response begins.
//!
//! Proxies and clients give up on a response that does not begin. So after some seconds it begins as an event stream, on
//! which comments are sent until the answer is available. It does not once the server was told to stop: a call that is not
//! answered in time then gets a status that says so.

use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;

use crate::cancellation::CancellationToken;
use crate::http::timers::alarm::{Alarm, after};
use crate::limits::Limits;

/// The silence of one call, measured from the first poll.
pub(in crate::http) struct SilenceTimeout {
    limit: Duration,
    shutdown: CancellationToken,
    due: Option<Instant>,
    alarm: Alarm,
}

impl SilenceTimeout {
    pub(in crate::http) fn new(limits: &Limits, shutdown: &CancellationToken) -> Self {
        Self {
            limit: limits.http.silence_timeout,
            shutdown: shutdown.clone(),
            due: None,
            alarm: Alarm::default(),
        }
    }

    /// Returns `true` if the silence has lasted too long; if not, wakes this task when it has.
    pub(in crate::http) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let begin = || after(Instant::now(), self.limit);
        let due = *self.due.get_or_insert_with(begin);
        self.alarm.poll(due, cx).is_ready() && !self.shutdown.is_cancelled()
    }
}
