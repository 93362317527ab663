//! The trait for relays that carry change notifications from one instance of a server to the others.

use crate::context::StoreFuture;

/// Carries change notifications between the instances of a server, so that a change announced by one instance reaches
/// the clients of all instances.
///
/// **Open**: implement it on top of a database that all instances share. A relay is a log of short texts that only the
/// server interprets. It may drop the oldest texts, and it may be emptied: an instance that may have missed some texts
/// notifies its clients that everything changed. No change is lost, but a notification may be unnecessary.
///
/// The relay carries changes announced with [`ServerHandle::notify`](crate::ServerHandle::notify), except for
/// notifications of extensions and for changes to a resource [for chosen callers](crate::Notifier::for_callers),
/// because a function cannot be sent. A list that changed for chosen callers is announced to all callers of other
/// instances.
pub trait NotificationRelay: Send + Sync + 'static {
    /// Appends texts to the log, in order, and wakes all receivers that are waiting for them. After an error, the
    /// server appends the texts again.
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()>;

    /// Returns the texts after a position, including those from this instance. If there are none, waits for new texts,
    /// but returns without any after a few seconds. Without a position, immediately returns the end of the log.
    ///
    /// The future may be dropped while it waits.
    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts>;
}

/// The texts in a [`NotificationRelay`] after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayedTexts {
    /// The texts, in order, or `None` if some may have been dropped because the position is older than the log or from
    /// another log.
    pub texts: Option<Vec<String>>,
    /// The position after the last text, in a form that only the relay interprets.
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
