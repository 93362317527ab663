//! The maximum duration for which a call may be silent before its response starts.
//!
//! Proxies and clients give up on a response that does not start. After a few seconds, the response therefore starts as
//! an event stream, and comments are sent on it until the answer is available. Once shutdown has begun, this no longer
//! happens, so a call that does not finish in time can still be answered with an error status.

use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;

use crate::cancellation::CancellationToken;
use crate::http::timers::alarm::{Alarm, instant_after};
use crate::limits::Limits;

/// The silence timeout for a single call, measured from the first poll.
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

    /// Returns `true` if the timeout has elapsed; otherwise, schedules this task to be woken when it elapses.
    pub(in crate::http) fn has_elapsed(&mut self, cx: &mut Context<'_>) -> bool {
        let begin = || instant_after(Instant::now(), self.limit);
        let due = *self.due.get_or_insert_with(begin);
        self.alarm.poll(due, cx).is_ready() && !self.shutdown.is_cancelled()
    }
}
