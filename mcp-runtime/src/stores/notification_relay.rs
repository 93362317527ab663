//! The trait for relays that carry change notifications between the instances of a server.

use crate::context::StoreFuture;

/// Carries change notifications between the instances of a server, so that a change announced by one instance reaches
/// the clients of all instances.
///
/// **Open**: implement it on top of a database that all instances share. A relay is a log of short entries that only
/// the server interprets. A relay may drop the oldest entries, and it may be emptied: an instance that may have missed
/// some entries notifies its clients that everything has changed. Changes are never lost, but notifications may be
/// unnecessary.
///
/// The relay carries changes announced with [`ServerHandle::notify`](crate::ServerHandle::notify), except for extension
/// notifications and for changes to a resource [for chosen callers](crate::Notifier::for_callers), because a function
/// cannot be sent. A change to a list for chosen callers is announced to all callers of other instances.
pub trait NotificationRelay: Send + Sync + 'static {
    /// Appends entries to the log, in order, and wakes all receivers that are waiting for them. After an error, the
    /// server appends the entries again.
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()>;

    /// Returns the entries after a position, including those from this instance. If there are none, waits a few seconds
    /// for new entries and then returns even if there are still none. Without a position, immediately returns the end
    /// of the log.
    ///
    /// The future may be dropped while it is waiting.
    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts>;
}

/// The entries that a [`NotificationRelay`] or [`InstanceRelay`](crate::backend::InstanceRelay) has after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayedTexts {
    /// The entries, in order, or `None` if some may have been dropped because the position is older than the log or
    /// from another log.
    pub texts: Option<Vec<String>>,
    /// The position after the last entry, in a form that only the relay interprets.
    pub position: String,
}

impl RelayedTexts {
    /// Creates the result of receiving.
    #[must_use]
    pub fn new(texts: Option<Vec<String>>, position: impl Into<String>) -> Self {
        Self {
            texts,
            position: position.into(),
        }
    }

    /// Returns `true` if there are entries, or if some may have been lost. Otherwise, a relay waits.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.texts.as_ref().is_none_or(|texts| !texts.is_empty())
    }
}
