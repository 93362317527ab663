//! Waits for changes that give no signal: in another process, at the other end of a socket, on the clock of the system.
//!
//! Everything else waits for a signal, or pauses the clock of tokio.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::PATIENCE;

/// Polls a condition until it holds.
///
/// # Panics
///
/// Panics if it does not hold in time.
pub async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !condition().await {
        assert!(started.elapsed() < PATIENCE, "it did not happen in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the clock of the system, read in whole seconds, has moved on by this many.
///
/// Sealed data has such a time, because instances share no other clock; it cannot be paused.
pub async fn for_seconds_of_the_system(seconds: u64) {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    };
    let end = now() + seconds;
    until(async || now() >= end).await;
}
