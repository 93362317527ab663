//! Where sessions are kept: what a session is as data, and the trait of whoever keeps it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::record::SessionRecord;
use crate::context::StoreFuture;
use crate::error::Causes;

/// Keeps legacy sessions: what was agreed on in a handshake, and what the client asked for since.
///
/// **Open**: implement it over a database, and instances of a server that share it serve the same sessions, whichever of
/// them a request reaches; sessions also outlive a restart. Without one they are kept in memory, by a [`MemorySessions`].
///
/// What is under way stays at the instance where it began, so with several instances
///
/// - the answer to a question of the server counts only if it reaches the instance that asked;
/// - `notifications/cancelled` ends a call only if it reaches the instance where it runs;
/// - a stream that a GET opened tells of changes made at its own instance, and learns within 15 seconds of resources that
///   were subscribed to at another one; within that time it also ends if the session was deleted there, as calls do;
/// - a client that comes back for the rest of a stream finds it elsewhere only if the instances share an [`EventStore`];
/// - the limits on calls, logs and completions of a session count at each instance.
///
/// Requests to list and to call, log levels, subscriptions and DELETE work at any of them.
///
/// An id is 43 characters of base64url, made of 256 random bits. Whoever knows one can go on with the session, so it is as
/// confidential as a password. Records are `Serialize` and `Deserialize`; what is in them is the server's business and may
/// grow.
///
/// Whatever takes longer than [`Limits::store_time`](crate::Limits::store_time) is given up (its future is dropped). An error,
/// like that, is answered 503 with `Retry-After`; its cause is in the log.
///
/// [`MemorySessions`]: super::MemorySessions
/// [`EventStore`]: super::EventStore
pub trait SessionStore: Send + Sync + 'static {
    /// Keeps a new session for the time `keep`. `false` if there is no room for it; its client gets 503.
    ///
    /// `in_use` says of which sessions this instance runs calls: a store that ends idle sessions to make room spares those.
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool>;

    /// The session of this id, which is kept for at least `keep` from now; `None` if there is none, or its time is over.
    ///
    /// Called for each request, and now and then while calls run or streams are open, with
    /// [`Limits::session_idle`](crate::Limits::session_idle). Zero leaves the time as it is. The time need not be exact: a
    /// store may write only what changes it by much.
    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>>;

    /// Replaces a record by what became of it. `false`, and nothing is changed, unless what is kept has a count of
    /// [`changes`](SessionRecord::changes) that is exactly one less: somebody else changed it, or it has ended.
    ///
    /// This has to be atomic. In SQL: `UPDATE sessions SET … WHERE id = $1 AND changes = $2 - 1`.
    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool>;

    /// Ends a session; `false` if there was none.
    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool>;
}

/// What a store says: at once, or later.
///
/// For what is in memory, so that it costs no allocation.
pub enum MaybeReady<'a, T> {
    /// It is known.
    Ready(Result<T, Box<dyn std::error::Error + Send + Sync>>),
    /// It has to be waited for.
    Later(StoreFuture<'a, T>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// What is known already.
    pub const fn ready(value: T) -> Self {
        Self::Ready(Ok(value))
    }

    /// What has to be waited for.
    pub fn later(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits, but not for ever. The cause of a failure goes to the log.
    pub(super) async fn within(self, time: Duration) -> Result<T, StoreFailed> {
        let known = match self {
            Self::Ready(known) => known,
            Self::Later(future) => Box::pin(tokio::time::timeout(time, future))
                .await
                .unwrap_or_else(|_| Err(format!("it took longer than {time:?}").into())),
        };
        known.map_err(|error| {
            tracing::error!(error = %Causes(&*error), "a store of sessions failed");
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

/// A store failed, which is in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreFailed;
