//! The trait for relays that carry messages to the server instance that runs a call.

use std::time::Duration;

use crate::context::StoreFuture;
use crate::stores::RelayedTexts;

/// Carries messages between the instances of a server, so that a legacy client's message reaches the instance that runs
/// the client's call, whichever instance received the message: an answer to one of the server's questions, a
/// cancellation, a change of log level, a subscription, or the end of a session.
///
/// **Open**: implement it on top of a database that all instances share, in addition to a
/// [`SessionStore`](crate::http::SessionStore). Each instance has an inbox of short messages that only the server
/// interprets. An instance counts as alive while it is receiving and for some time afterward, so that the other
/// instances learn when it is gone. The server does not cancel or repeat anything in that case, but informs the clients
/// that are waiting for the instance.
///
/// Messages contain data from clients, so they are as confidential as sessions.
pub trait InstanceRelay: Send + Sync + 'static {
    /// Sends a message to the live instances whose names begin with `to`, and wakes those that are waiting. Returns the
    /// number of instances to which the message was sent.
    ///
    /// Fails if an inbox has no room for the message, so that no message is lost silently. The server may send a
    /// message again after an error, so an instance may receive it twice.
    fn send<'a>(&'a self, to: &'a str, text: &'a str) -> StoreFuture<'a, usize>;

    /// Keeps an instance alive for the duration `lease` from now on and returns the messages after a position in its
    /// inbox. If there are none, waits for new messages, but for no longer than a third of `lease`. Messages up to the
    /// position have been received and may be dropped.
    ///
    /// Without a position, empties the inbox and returns immediately. If the instance was no longer alive, or if
    /// messages may have been lost for another reason, `texts` in the result is `None`.
    ///
    /// The future may be dropped while it is waiting.
    fn receive<'a>(
        &'a self,
        instance: &'a str,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts>;

    /// Returns the names of all instances that are alive.
    fn instances(&self) -> StoreFuture<'_, Vec<String>>;
}
