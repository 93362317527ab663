//! The clock of a call's timeout.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// The clock of a call's timeout. It runs only while the handler itself is working.
#[derive(Default)]
pub(super) enum CallClock {
    #[default]
    NotStarted,
    /// Stopped, with this much time left.
    Stopped(Duration),
    Running(Pin<Box<Sleep>>),
}

impl CallClock {
    /// Stops the clock. The time that is left counts from the next start.
    pub(super) fn stop(&mut self) {
        if let Self::Running(sleep) = self {
            let left = sleep.deadline().saturating_duration_since(Instant::now());
            *self = Self::Stopped(left);
        }
    }

    /// Starts the clock if it is not running, with the time that is left of `limit`.
    pub(super) fn start(&mut self, limit: Duration) {
        let left = match self {
            Self::NotStarted => limit,
            Self::Stopped(left) => *left,
            Self::Running(_) => return,
        };
        *self = Self::Running(Box::pin(tokio::time::sleep(left)));
    }

    /// Polls a running clock, which is ready once no time is left.
    pub(super) fn poll(&mut self, task: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Running(sleep) => sleep.as_mut().poll(task),
            Self::NotStarted | Self::Stopped(_) => Poll::Pending,
        }
    }
}
