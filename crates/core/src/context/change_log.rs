//! The changes that clients are notified about, and that processes which serve together announce to each other.

use std::pin::Pin;
use std::sync::Arc;

use crate::handler::access::NotifiedCallers;
use crate::protocol::encode::ListKind;

/// A change that clients can be notified about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeNotification {
    /// A list, which differs for the callers of the change.
    List(ListKind),
    /// The contents of the resource with this URI.
    Resource(String),
}

/// A log in which processes announce changes to each other.
#[allow(
    dead_code,
    reason = "only sessions over HTTP move from one process to another"
)]
pub trait ChangeLog: Send + Sync {
    /// Returns the work that exchanges changes with other processes until the server stops, each part for a task of its own.
    fn exchange(self: Arc<Self>, listeners: Arc<dyn ChangeListeners>) -> Vec<ExchangeFuture>;

    /// Announces a change of this process to the others.
    fn announce(&self, change: &ChangeNotification, audience: &NotifiedCallers);

    /// Returns the position in the log up to which this process has notified its clients, if it has read any.
    fn position(&self) -> Option<Arc<str>>;

    /// Returns this process's changes that may not be in the log yet, or of which this process does not know whether they
    /// are before its position. Its clients were notified of them at once.
    fn own_changes(&self) -> Vec<LoggedChange>;

    /// Reads all changes after a position, including this process's own. Returns `None` if they are no longer known.
    fn changes_after(self: Arc<Self>, position: Box<str>) -> ChangesFuture;
}

/// The clients of this process that listen for changes.
pub trait ChangeListeners: Send + Sync {
    /// Notifies them of a change that another process has announced.
    fn notify_of_logged(&self, change: &LoggedChange);

    /// Waits until the server stops.
    fn stopped(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Exchanges changes with other instances for as long as it is polled.
pub type ExchangeFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
/// The changes since the last ones, or `None` if too many were missed.
pub type ChangesFuture = Pin<Box<dyn Future<Output = Option<Vec<LoggedChange>>> + Send>>;

/// A change in the log.
#[derive(Debug)]
pub struct LoggedChange {
    /// `None` if everything may have changed.
    pub change: Option<ChangeNotification>,
    /// The callers who are told.
    pub audience: NotifiedCallers,
}

impl LoggedChange {
    /// Stands for changes that are not known.
    pub const EVERYTHING: Self = Self {
        change: None,
        audience: NotifiedCallers::All,
    };
}
