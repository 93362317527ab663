//! A handler's options: its cache hint and its limits on call rate, concurrency, duration and result size.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::handler::access::Access;
use crate::handler::definition::GuardOptions;
use crate::protocol::encode::CacheHint;
use crate::rate::{Rate, RateLimiter};
use crate::types::CacheScope;

/// The limits for a single handler. The server's limits apply as well.
#[derive(Debug, Default)]
pub(crate) struct HandlerLimits {
    pub(crate) timeout: Option<Duration>,
    pub(crate) rate: Option<RateLimiter>,
    pub(crate) permits: Option<CallPermits>,
    /// Maximum size of a result, in bytes.
    pub(crate) max_output: Option<usize>,
    /// `true` if a result that is larger is replaced before its response, with the request's id, is written.
    pub(crate) fits_output: bool,
}

impl HandlerLimits {
    /// Creates the limits that a definition specifies. Invalid values are reported in `problems`.
    pub(super) fn new(options: &GuardOptions<impl AsRef<str>>, problems: &mut Vec<String>) -> Self {
        let rate = options.rate.as_ref().map(|rate| Rate::parse(rate.as_ref()));
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
            rate: rate.ok().flatten().map(RateLimiter::new),
            permits: options.concurrency.map(CallPermits::new),
            max_output: options.max_output,
            fits_output: false,
        }
    }
}

/// Returns the cache hint for resource contents. If access is restricted, the contents may be cached only for the
/// caller.
pub(super) fn cache_hint(
    ttl: Option<Duration>,
    scope: Option<CacheScope>,
    access: &Access,
) -> CacheHint {
    CacheHint {
        ttl: ttl.unwrap_or_default(),
        scope: match scope {
            Some(scope) if !access.is_restricted() => scope,
            _ => CacheScope::Private,
        },
    }
}

/// Permits for concurrent calls, granted in order of arrival.
#[derive(Debug)]
pub(crate) struct CallPermits {
    free: Arc<Semaphore>,
    max: usize,
    waiting: AtomicUsize,
}

/// A permit, released when dropped.
pub(crate) type CallPermit = OwnedSemaphorePermit;

impl CallPermits {
    pub(crate) fn new(max: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(max)),
            max,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if any permit is in use.
    pub(crate) fn in_use(&self) -> bool {
        self.free.available_permits() < self.max
    }

    /// Returns a permit if one is available.
    pub(crate) fn try_acquire(&self) -> Option<CallPermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Waits for a permit, however long it takes. Calls that wait here do not count toward the limit of
    /// [`acquire`](Self::acquire).
    pub(crate) async fn wait(&self) -> Option<CallPermit> {
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Waits for a permit. Returns `None` if `max_waiting` calls are already waiting. Dropping the future cancels the
    /// wait.
    pub(crate) async fn acquire(&self, max_waiting: usize) -> Option<CallPermit> {
        if let Some(permit) = self.try_acquire() {
            return Some(permit);
        }
        let _waiting = QueuedCall::enter(&self.waiting, max_waiting)?;
        self.wait().await
    }
}

/// A call that is waiting for a permit.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn enter(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let entered = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < max).then_some(entered)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_restricted_resources_are_cached_by_their_caller_only() {
        let open = Access::default();
        let closed = Access::declared(&["read"], None);
        let hint = |ttl, scope, access: &Access| {
            let hint = cache_hint(ttl, scope, access);
            (hint.ttl, hint.scope)
        };
        let public = Some(CacheScope::Public);
        let second = Duration::from_secs(1);
        assert_eq!(
            hint(None, None, &open),
            (Duration::ZERO, CacheScope::Private)
        );
        assert_eq!(
            hint(Some(second), public, &open),
            (second, CacheScope::Public)
        );
        assert_eq!(
            hint(Some(second), public, &closed),
            (second, CacheScope::Private)
        );
    }
}
