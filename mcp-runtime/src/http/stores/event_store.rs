//! Stores for events of streams, for clients that reconnect at another instance: the trait.

use std::sync::Arc;
use std::time::Duration;

use crate::http::stores::maybe_ready::MaybeReady;

/// Stores the messages sent on the event streams of sessions, for clients that reconnect with `Last-Event-ID`.
///
/// **Open**: implement it over a database that the instances of a server share, in addition to a [`SessionStore`]. A
/// client whose connection broke then gets the rest of a stream at any instance, even while the call continues at the
/// instance where it began. Without a shared store, each instance keeps the events of its own streams, within the same
/// limits.
///
/// A stream is a list of entries at consecutive positions without gaps: first [`StreamEntry::Opened`] at position 0,
/// then messages, and finally [`StreamEntry::Ended`]. A client names the last position it has seen. Nothing is sent
/// before it was appended, unless appending fails: then it is retried a few times while the client receives what is
/// available. A stream that could not be stored to its end, because the store or the instance failed, ends at other
/// instances when the store drops it.
///
/// As with a [`SessionStore`], each operation may take [`limits.sessions.store_timeout`](crate::Limits), and errors
/// are answered with 503.
///
/// [`SessionStore`]: crate::http::SessionStore
pub trait EventStore: Send + Sync + 'static {
    /// Appends an entry to a stream of a session. From now on the stream is kept for the time `keep`, regardless of
    /// earlier values: [`limits.sessions.streaming_idle_timeout`](crate::Limits) while it continues,
    /// and [`limits.streams.replay_timeout`](crate::Limits) once it has ended.
    ///
    /// The entries of a stream are appended one after the other, by one instance; after an error or a timeout, the same
    /// entry is appended again. `stream` is less than 2⁶³. A store may drop the oldest entries of a stream, and streams
    /// of a session, when there are too many.
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()>;

    /// Returns the entries after the position `after`, in order; an empty list if there are none yet. `None` if the
    /// stream is not kept for this session, the entry at the next position was dropped, or the position was never
    /// reached.
    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>>;

    /// Drops all streams of a session that has ended.
    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()>;
}

/// An entry in an [`EventStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a store writes every kind of entry; a new kind would be lost"
)]
pub enum StreamEntry {
    /// The stream begins.
    Opened,
    /// A message was sent, as JSON.
    Message(Arc<[u8]>),
    /// The stream ends: no entries follow.
    Ended,
}
