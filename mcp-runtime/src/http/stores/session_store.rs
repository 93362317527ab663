//! The trait for session stores.

use std::sync::Arc;
use std::time::Duration;

use crate::http::stores::maybe_ready::MaybeReady;
use crate::http::stores::record::SessionRecord;

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
