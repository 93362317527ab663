//! Waits for changes that cannot be signalled: in another process, at the other end of a socket, or on the system
//! clock.
//!
//! In all other cases, tests wait for a signal or pause tokio's clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::time::timeout;

use crate::client::PATIENCE;

/// Maximum time for which a test may use one client or read one response, by the clock on the wall. A test that waits for
/// something else than what a server sends again and again ends here, also if tokio's clock is paused.
const LONGEST: Duration = Duration::from_mins(10);

/// The time since which a client or a response is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(Instant);

impl Since {
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    /// Fails if the test waits for too long.
    pub(crate) fn check(self) {
        assert!(self.0.elapsed() < LONGEST, "it did not happen in time");
    }
}

/// Waits for a value.
///
/// # Panics
///
/// Panics if there is no value in time.
pub async fn in_time<T>(value: impl Future<Output = T>) -> T {
    let value = timeout(PATIENCE, value).await;
    value.expect("it happens in time")
}

/// Waits for a value on tokio's paused clock, which moves on whenever nothing else happens. Waits for a day of that clock,
/// which is longer than any limit of a server.
///
/// # Panics
///
/// Panics if there is no value within a day.
pub async fn for_a_paused_day<T>(value: impl Future<Output = T>) -> T {
    let value = timeout(Duration::from_hours(24), value).await;
    value.expect("it happens within a day")
}

/// Polls a condition until it holds.
///
/// # Panics
///
/// Panics if the condition does not hold in time.
pub async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !in_time(condition()).await {
        assert!(started.elapsed() < PATIENCE, "it did not happen in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the system clock, read in whole seconds, has advanced by the given number of seconds.
///
/// Sealed data contains a time from the system clock, because it is the only clock that instances share. It cannot be
/// paused.
pub async fn for_seconds_of_the_system(seconds: u64) {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    };
    let end = now() + seconds;
    until(async || now() >= end).await;
}
