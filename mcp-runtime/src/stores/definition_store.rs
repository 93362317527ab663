//! The trait for stores of definitions that the instances of a server share.

use crate::context::StoreFuture;

/// Keeps the records of [`SharedDefinitions`](crate::dynamic::SharedDefinitions), so that a definition added on one
/// instance of a server exists on all of them.
///
/// **Open**: implement it on top of a database that all instances share. A store has sets, and a set has a record for
/// each name. Only the server interprets records. They do not expire.
pub trait DefinitionStore: Send + Sync + 'static {
    /// Adds a record, or replaces the one with the same name, and wakes all receivers that are waiting for the set.
    fn put<'a>(&'a self, set: &'a str, name: &'a str, record: &'a str) -> StoreFuture<'a, ()>;

    /// Removes a record and wakes all receivers that are waiting for the set. Returns `true` if the record existed.
    fn remove<'a>(&'a self, set: &'a str, name: &'a str) -> StoreFuture<'a, bool>;

    /// Returns all records of a set, unless this version is still current: then it waits a few seconds for a change,
    /// and returns `None` if there is none. Without a version, immediately returns the records.
    ///
    /// The future may be dropped while it is waiting.
    fn receive<'a>(
        &'a self,
        set: &'a str,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, Option<StoredDefinitions>>;
}

/// The records of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDefinitions {
    /// Names and records, in any order.
    pub records: Vec<(String, String)>,
    /// Identifies this state of the set, in a form that only the store interprets. It changes with every change, and
    /// when the set is lost.
    pub version: String,
}

impl StoredDefinitions {
    /// Creates the result of receiving.
    #[must_use]
    pub fn new(records: Vec<(String, String)>, version: impl Into<String>) -> Self {
        Self {
            records,
            version: version.into(),
        }
    }
}
