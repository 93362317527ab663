//! The trait for what carries change notifications from one instance of a server to the others.

use crate::context::StoreFuture;

/// Carries change notifications between the instances of a server, so that a change that one instance announces reaches the clients
/// of all.
///
/// **Open**: implement it on top of a database that all instances share. It is a log of short texts, which only the server reads. It may drop
/// the oldest, and it may be emptied: an instance that may have missed some tells its clients that everything changed, so nothing is
/// lost, and a notification may come without need.
///
/// Changes announced with [`ServerHandle::notify`](crate::ServerHandle::notify) are carried, except those of a resource
/// [for chosen callers](crate::Notifier::for_callers), because a function cannot be sent, and notifications of extensions. A list
/// that changed for chosen callers is announced to all callers of other instances.
pub trait NotificationRelay: Send + Sync + 'static {
    /// Appends texts to the log, in order, and wakes those who wait for them. After an error, the server appends them again.
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()>;

    /// Returns the texts after a position, those of this instance included. If there are none, waits for some, or returns none after a
    /// few seconds. Without a position, returns the end of the log at once.
    ///
    /// The future may be dropped while it waits.
    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts>;
}

/// The texts in a [`NotificationRelay`] after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayedTexts {
    /// The texts, in order. `None` if some may have been dropped: the position is older than the log, or from another log.
    pub texts: Option<Vec<String>>,
    /// The position after the last text, in a form that only the relay reads.
    pub position: String,
}

impl RelayedTexts {
    /// Creates the result of [`NotificationRelay::receive`].
    #[must_use]
    pub fn new(texts: Option<Vec<String>>, position: impl Into<String>) -> Self {
        Self {
            texts,
            position: position.into(),
        }
    }
}
