//! Stores for sessions: the trait.

use std::sync::Arc;
use std::time::Duration;

use crate::http::stores::maybe_ready::MaybeReady;
use crate::http::stores::record::SessionRecord;

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
/// [`MemorySessions`]: crate::http::MemorySessions
/// [`EventStore`]: crate::http::EventStore
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
