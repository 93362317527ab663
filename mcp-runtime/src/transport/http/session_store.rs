//! Stores for sessions: the trait, and the results of its operations.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::record::SessionRecord;
use crate::context::StoreFuture;
use crate::error::Causes;

/// Stores legacy sessions: the result of the handshake, and the settings that the client has requested since.
///
/// **Open**: implement it over a database. Instances of a server that share it serve the same sessions, whichever
/// instance a request reaches, and sessions survive a restart. Without a custom store, sessions are kept in memory, by
/// a [`MemorySessions`].
///
/// Work in progress stays at the instance where it began. With several instances,
///
/// - the answer to an elicitation, sampling or roots request counts only if it reaches the instance that sent the request;
/// - `notifications/cancelled` ends a call only if it reaches the instance where it runs;
/// - a GET stream reports changes made at its own instance, and learns within 15 seconds of resources that were
///   subscribed to at another one; within that time it also ends if the session was deleted there, as calls do;
/// - a client can resume a stream at another instance only if the instances share an [`EventStore`];
/// - the limits on calls, logs and completions of a session apply at each instance separately.
///
/// Lists, calls, log levels, subscriptions and DELETE work at any instance.
///
/// An id is 43 characters of base64url, made of 256 random bits. It is all that is needed to use the session, so it is
/// as confidential as a password. Records are `Serialize` and `Deserialize`; their contents are private to the server
/// and may grow.
///
/// An operation that takes longer than [`limits.sessions.store_timeout`](crate::Limits) is given up (its future is
/// dropped). The request then gets 503 with `Retry-After`, as after an error; the cause is logged.
///
/// [`MemorySessions`]: super::MemorySessions
/// [`EventStore`]: super::EventStore
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session for the time `keep`. Returns `false` if there is no room for it; its client gets 503.
    ///
    /// `in_use` returns `true` for sessions with running calls at this instance: a store that ends idle sessions to
    /// make room spares them.
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool>;

    /// Returns the session with this id, and keeps it for at least `keep` from now; `None` if there is none, or it has
    /// expired.
    ///
    /// Called for each request, and periodically while calls run or streams are open, with
    /// [`limits.sessions.idle_timeout`](crate::Limits). Zero leaves the expiry as it is. The time need not be
    /// exact: a store may write only significant changes.
    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>>;

    /// Replaces a record with its new version. Returns `false`, without changing anything, unless the stored count of
    /// [`changes`](SessionRecord::changes) is exactly one less: the session was changed concurrently, or has ended.
    ///
    /// This must be atomic. In SQL: `UPDATE sessions SET … WHERE id = $1 AND changes = $2 - 1`.
    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool>;

    /// Ends a session; returns `false` if there was none.
    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool>;
}

/// The result of a store operation: available at once, or later.
///
/// An immediate result, for data in memory, needs no allocation.
pub enum MaybeReady<'a, T> {
    /// The result is available.
    Ready(Result<T, Box<dyn std::error::Error + Send + Sync>>),
    /// The result has to be waited for.
    Later(StoreFuture<'a, T>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// Returns a result that is available.
    pub const fn ready(value: T) -> Self {
        Self::Ready(Ok(value))
    }

    /// Returns a result that has to be waited for.
    pub fn later(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the result, but no longer than `time`. The cause of a failure is logged.
    pub(super) async fn within(self, time: Duration) -> Result<T, StoreFailed> {
        let known = match self {
            Self::Ready(known) => known,
            Self::Later(future) => Box::pin(tokio::time::timeout(time, future))
                .await
                .unwrap_or_else(|_| Err(format!("it took longer than {time:?}").into())),
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
        }
    }
}

/// A store failed; the cause has been logged.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreFailed;
