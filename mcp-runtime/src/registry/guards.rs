//! Limits of one handler: rate of calls, concurrency, duration and size of results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::handler::definition::GuardOptions;
use crate::handler::rules;
use crate::rate::Limiter;

/// The limits of one handler. Those of the server apply in addition.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    pub(crate) timeout: Option<Duration>,
    pub(crate) rate: Option<Limiter>,
    pub(crate) places: Option<CallPermits>,
    /// Maximum size of a result, in bytes.
    pub(crate) max_output: Option<usize>,
}

impl Guards {
    /// Creates the limits that a definition specifies. Mistakes are added to `problems`.
    pub(super) fn new(options: &GuardOptions<impl AsRef<str>>, problems: &mut Vec<String>) -> Self {
        let rate = options
            .rate
            .as_ref()
            .map(|rate| rules::read_rate(rate.as_ref()));
        let rate = rate.transpose().map_err(|problem| problems.push(problem));
        for (name, value) in [
            ("concurrency", options.concurrency),
            ("max_output", options.max_output),
        ] {
            if value == Some(0) {
                problems.push(format!("`{name}` is zero; the minimum is one"));
            }
        }
        Self {
            timeout: options.timeout,
            rate: rate.ok().flatten().map(Limiter::new),
            places: options.concurrency.map(CallPermits::new),
            max_output: options.max_output,
        }
    }
}

/// Permits for concurrent calls, granted in order of arrival.
#[derive(Debug)]
pub(crate) struct CallPermits {
    free: Arc<Semaphore>,
    most: usize,
    waiting: AtomicUsize,
}

/// A permit, released when dropped.
pub(crate) type CallPermit = OwnedSemaphorePermit;

impl CallPermits {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(most)),
            most,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if any permit is taken.
    pub(crate) fn in_use(&self) -> bool {
        self.free.available_permits() < self.most
    }

    /// Waits for a permit; `None` if `most` calls wait already. Dropping the future gives up the wait.
    pub(crate) async fn enter(&self, most: usize) -> Option<CallPermit> {
        if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(place);
        }
        let _waiting = QueuedCall::enter(&self.waiting, most)?;
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }
}

/// A call that waits for a permit.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn enter(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let entered = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < most).then_some(entered)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
