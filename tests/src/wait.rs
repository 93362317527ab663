//! Waits for changes that cannot be signalled: in another process, at the other end of a socket, or on the system
//! clock.
//!
//! In all other cases, tests wait for a signal or pause tokio's clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::PATIENCE;

/// Polls a condition until it holds.
///
/// # Panics
///
/// Panics if the condition does not hold in time.
pub async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !condition().await {
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
