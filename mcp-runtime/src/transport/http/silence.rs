//! The time a call may be silent before its response begins.
//!
//! Proxies and clients take a response of which nothing comes for dead, and give it up. So after some seconds it begins as a
//! stream of events, on which comments are sent until the answer is there. Once the server was told to stop, it does not: a
//! call that is not answered in time has a status for that.

use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;

use super::io::{Alarm, after};
use crate::cancellation::CancellationToken;
use crate::limits::Limits;

/// The silence of one call, from when it is first asked about.
pub(super) struct Silence {
    limit: Duration,
    shutdown: CancellationToken,
    due: Option<Instant>,
    alarm: Alarm,
}

impl Silence {
    pub(super) fn new(limits: &Limits, shutdown: &CancellationToken) -> Self {
        Self {
            limit: limits.stream_after,
            shutdown: shutdown.clone(),
            due: None,
            alarm: Alarm::default(),
        }
    }

    /// Says whether it lasted too long; if not, this task is woken when it has.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let begin = || after(Instant::now(), self.limit);
        let due = *self.due.get_or_insert_with(begin);
        self.alarm.poll(due, cx).is_ready() && !self.shutdown.is_cancelled()
    }
}
