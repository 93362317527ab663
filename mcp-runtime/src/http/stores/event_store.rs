//! The trait for stores of stream events, which let clients resume a stream on another instance.

use std::sync::Arc;
use std::time::Duration;

use crate::http::stores::session_store::MaybeReady;

/// Stores the messages sent on sessions' event streams, for clients that reconnect with `Last-Event-ID`.
///
/// **Open**: implement it on top of a database that all instances of a server share, in addition to a [`SessionStore`].
/// A client that lost its connection can then receive the rest of a stream from any instance, even while the call
/// continues on the instance where it started. Without a shared store, each instance keeps the events of its own
/// streams, within [`limits.streams`](crate::Limits).
///
/// A stream is a list of entries at consecutive positions: first [`StreamEntry::Opened`] at position 0, then messages,
/// and finally [`StreamEntry::Ended`]. A reconnecting client sends the last position it received. Messages are
/// normally sent only after they have been appended. If appending fails, it is retried a few times, and in the
/// meantime, the client receives the messages that are available. If the store or the instance fails before the whole
/// stream has been stored, other instances see the stream end when the store drops it.
///
/// As with a [`SessionStore`], each operation may take up to [`limits.sessions.store_timeout`](crate::Limits), and a
/// request fails with 503 if the store fails.
///
/// [`SessionStore`]: crate::http::SessionStore
pub trait EventStore: Send + Sync + 'static {
    /// Appends an entry to a session's stream. From then on, the store keeps the stream for the duration `keep`,
    /// regardless of any earlier `keep` values. `keep` is 30 minutes (or
    /// [`limits.sessions.streaming_idle_timeout`](crate::Limits), if that is less) while the stream continues and [`limits.streams.replay_timeout`](crate::Limits) once it has ended.
    ///
    /// The same instance appends all of a stream's entries, one after another. After an error or a timeout, the
    /// instance appends the same entry again. `stream` is less than 2⁶³. A store may drop a stream's oldest entries if
    /// the stream has too many, and a session's streams if the session has too many.
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()>;

    /// Returns the entries after the position `after`, in order, or an empty list if there are no such entries yet.
    /// Returns `None` if the stream is not kept for this session, if the entry at the next position was dropped, or if
    /// the position was never reached.
    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>>;

    /// Drops all streams for a session that has ended.
    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()>;
}

/// An entry in an [`EventStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a store writes every kind of entry; a new kind would be lost"
)]
pub enum StreamEntry {
    /// The start of the stream.
    Opened,
    /// A message sent on the stream, as JSON.
    Message(Arc<[u8]>),
    /// The end of the stream: no entries follow.
    Ended,
}
