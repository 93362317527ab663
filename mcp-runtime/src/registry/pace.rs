//! Detects handlers that block their thread for a long time before their first await point.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Remembers whether a handler blocks its thread for a long time before its first await point.
///
/// The task that serves a connection must not poll such a handler, because this would delay further messages.
#[derive(Debug, Default)]
pub(crate) struct FirstPollPace(AtomicU32);

impl FirstPollPace {
    /// A handler is slow if its first poll takes longer than this.
    const SLOW: Duration = Duration::from_micros(200);
    /// Number of calls that are spawned, rather than polled in place, after a slow first poll.
    const CALLS: u32 = 32;

    /// Returns `true` if the next call should be spawned before its first poll, and counts that call.
    pub(crate) fn spawn_first(&self) -> bool {
        // The usual case needs only one load.
        self.0.load(Ordering::Relaxed) != 0
            && self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                    calls.checked_sub(1)
                })
                .is_ok()
    }

    /// Records the duration of a first poll.
    pub(crate) fn record_first_poll(&self, first_poll: Duration) {
        if first_poll > Self::SLOW {
            self.0.store(Self::CALLS, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_slow_first_poll_32_calls_are_spawned_first() {
        let pace = FirstPollPace::default();
        assert!(!pace.spawn_first());
        pace.record_first_poll(Duration::from_micros(200));
        assert!(!pace.spawn_first());
        pace.record_first_poll(Duration::from_micros(201));
        for _ in 0..32 {
            assert!(pace.spawn_first());
        }
        assert!(!pace.spawn_first());
    }
}
