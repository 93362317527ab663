//! The trait for session stores.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::context::StoreFuture;
use crate::error::Causes;
use crate::fnv::FnvHasher;
use crate::http::stores::record::SessionRecord;
use crate::http::timers::timeout_while_running;

/// Stores legacy sessions: the result of the handshake, and the settings that the client has requested since.
///
/// **Open**: implement it on top of a database. Instances of a server that share a store serve the same sessions, no
/// matter which instance a request reaches, and sessions survive a restart. Without a custom store, a
/// [`MemorySessions`] keeps sessions in memory.
///
/// Work in progress stays on the instance where it started. With several instances that do not share an
/// [`InstanceRelay`](crate::backend::InstanceRelay):
///
/// - the answer to an elicitation, sampling or roots request is accepted only if it reaches the instance that sent the
///   request;
/// - `notifications/cancelled` cancels a call only if it reaches the instance where the call runs;
/// - subscriptions and log levels set on another instance take effect for running calls and streams within 15 seconds;
///   if the session is deleted on another instance, its streams and calls also end within 15 seconds.
///
/// In any case:
///
/// - a GET stream reports only changes made on the instance that serves it, unless the instances share a
///   [`NotificationRelay`](crate::backend::NotificationRelay);
/// - a client can resume a stream on another instance only if the instances share an [`EventStore`];
/// - the limits on a session's calls, logs and completions apply to each instance separately.
///
/// Lists, calls, log levels, subscriptions and DELETE work on any instance.
///
/// A session id consists of 43 base64url characters, which encode 256 random bits. Knowing the id is enough to use the
/// session, so the id is as confidential as a password. Records implement `Serialize` and `Deserialize`; their contents
/// are private to the server, and future versions may add to them.
///
/// An operation that takes longer than [`limits.sessions.store_timeout`](crate::Limits) is abandoned (its future is
/// dropped), unless the store [limits the time itself](MaybeReady::bounded). As after an error, the request then
/// receives 503 with `Retry-After`, and the cause is logged.
///
/// [`MemorySessions`]: crate::http::MemorySessions
/// [`EventStore`]: crate::http::EventStore
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session for the duration `keep`. Returns `false` if there is no room for the session; the client
    /// then receives 503.
    ///
    /// `in_use` returns `true` for sessions with running calls on this instance and, at first, for those with an open
    /// stream. A store that ends idle sessions to make room must not end these. If it returns `false`, it is called once
    /// more, with an `in_use` that does not spare sessions with an open stream.
    ///
    /// `keep` is [`limits.sessions.start_timeout`](crate::Limits). A store that ends the session that would expire first
    /// therefore spares those that were used after the handshake.
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool>;

    /// Returns the session with this id and keeps it for at least `keep` from now on. Returns `None` if the session
    /// does not exist or has expired.
    ///
    /// Called for each request, and periodically while calls are running or streams are open. `keep` is normally
    /// [`limits.sessions.idle_timeout`](crate::Limits); zero leaves the expiry unchanged. The expiry does not have to
    /// be exact: a store may write only significant changes to the expiry.
    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>>;

    /// Replaces a record with its new version. If the stored [`changes`](SessionRecord::changes) count is not exactly
    /// one less than the new record's count, the session was changed concurrently or has ended; in that case, `save`
    /// changes nothing and returns `false`.
    ///
    /// This must be atomic. In SQL: `UPDATE sessions SET … WHERE id = $1 AND changes = $2 - 1`.
    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool>;

    /// Ends a session. Returns `false` if it did not exist.
    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool>;
}

// Results of store operations, which are available immediately or later.

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

// Session ids, which are as confidential as passwords, because knowing an id is enough to use the session.

/// Generates an unpredictable id: 256 random bits.
pub(in crate::http) fn random_id() -> String {
    crate::random::random_id::<32>()
}

/// A map keyed by ids that this server generated.
pub(in crate::http) type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdSuffixHasher>>;

/// Hashes only the end of an id, which is as random as the rest.
#[derive(Default)]
pub(in crate::http) struct IdSuffixHasher(FnvHasher);

impl Hasher for IdSuffixHasher {
    fn write(&mut self, id: &[u8]) {
        self.0.write(id.last_chunk::<12>().map_or(id, |end| end));
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns `true` if `id` has the form of a generated id. Stores are never queried for other values.
pub(in crate::http) fn is_valid_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // Checks every byte without an early exit so that the processor can check many bytes at a time.
    id.len() == 43 && id.bytes().fold(true, |all, byte| all & is_plain(byte))
}

#[cfg(test)]
mod maybe_ready_tests {
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
