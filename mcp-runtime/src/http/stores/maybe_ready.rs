//! Results of store operations, which are available immediately or later.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use crate::context::StoreFuture;
use crate::error::Causes;
use crate::http::timers::timeout_while_running;

/// The result of a store operation, which is available immediately or later.
///
/// A result that is available immediately, such as data in memory, does not require an allocation.
pub enum MaybeReady<'a, T> {
    /// The result is available.
    Ready(Result<T, Box<dyn std::error::Error + Send + Sync>>),
    /// The result must be awaited, for at most [`limits.sessions.store_timeout`](crate::Limits).
    Later(StoreFuture<'a, T>),
    /// The result must be awaited. The store itself limits the time.
    Bounded(StoreFuture<'a, T>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// Creates a result that is already available.
    pub const fn ready(value: T) -> Self {
        Self::Ready(Ok(value))
    }

    /// Creates a result that must be awaited.
    pub fn later(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Creates a result that must be awaited, from an operation whose time the store itself limits. It is never abandoned,
    /// and takes no timer.
    pub fn bounded(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Bounded(Box::pin(future))
    }

    /// Waits for the result for at most `time`, unless the store limits the time. The cause of a failure is logged.
    pub(in crate::http) async fn with_timeout(self, time: Duration) -> Result<T, StoreFailed> {
        let known = match self {
            Self::Ready(known) => known,
            Self::Bounded(future) => future.await,
            Self::Later(future) => Box::pin(timeout_while_running(time, future))
                .await
                .unwrap_or_else(|| Err(format!("it took longer than {time:?}").into())),
        };
        known.map_err(|error| {
            tracing::error!(error = %Causes(&*error), "a session or event store failed");
            StoreFailed
        })
    }
}

impl<T: fmt::Debug> fmt::Debug for MaybeReady<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(value) => f.debug_tuple("Ready").field(value).finish(),
            Self::Later(_) => f.debug_tuple("Later").finish_non_exhaustive(),
            Self::Bounded(_) => f.debug_tuple("Bounded").finish_non_exhaustive(),
        }
    }
}

/// The error for a failed store operation. The cause of the failure has already been logged.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct StoreFailed;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_results_that_the_store_does_not_limit_are_abandoned() {
        let slow = async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok(1)
        };
        let limit = Duration::from_secs(1);
        MaybeReady::later(slow())
            .with_timeout(limit)
            .await
            .unwrap_err();
        let bounded = MaybeReady::bounded(slow()).with_timeout(limit).await;
        assert_eq!(bounded.unwrap(), 1);
    }
}
