//! The trait for stores of definitions that the instances of a server share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_core::sync::lock;
use tokio::sync::watch;
use tokio::time::timeout;

/// Keeps the records of `SharedDefinitions`, so that a definition added on one
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

// --- Records of definitions in memory.

/// Time for which a receiver waits for a change.
const RECEIVER_WAIT: Duration = Duration::from_secs(5);

/// A [`DefinitionStore`] in this process's memory, for servers with a single instance and for tests.
#[derive(Debug)]
pub struct MemoryDefinitionStore {
    sets: Mutex<HashMap<String, RecordSet>>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct RecordSet {
    changes: u64,
    records: BTreeMap<String, String>,
}

impl MemoryDefinitionStore {
    /// Creates a store without records.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sets: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    fn change<T>(&self, set: &str, change: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
        let mut sets = lock(&self.sets);
        let set = sets.entry(set.to_owned()).or_default();
        set.changes += 1;
        let done = change(&mut set.records);
        drop(sets);
        self.changed.send_replace(());
        done
    }

    fn read(&self, set: &str, after: Option<&str>) -> Option<StoredDefinitions> {
        let sets = lock(&self.sets);
        let set = sets.get(set);
        let version = set.map_or(0, |set| set.changes).to_string();
        if after == Some(&*version) {
            return None;
        }
        let records = set.into_iter().flat_map(|set| set.records.clone());
        Some(StoredDefinitions::new(records.collect(), version))
    }
}

impl Default for MemoryDefinitionStore {
    fn default() -> Self {
        Self::new()
    }
}

impl DefinitionStore for MemoryDefinitionStore {
    fn put<'a>(&'a self, set: &'a str, name: &'a str, record: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.change(set, |records| {
                records.insert(name.to_owned(), record.to_owned());
            });
            Ok(())
        })
    }

    fn remove<'a>(&'a self, set: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.change(set, |records| records.remove(name).is_some())) })
    }

    fn receive<'a>(
        &'a self,
        set: &'a str,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, Option<StoredDefinitions>> {
        Box::pin(async move {
            let mut changed = self.changed.subscribe();
            let wait = async {
                loop {
                    if let Some(stored) = self.read(set, after) {
                        return Some(stored);
                    }
                    // The sender is part of the store, so it exists.
                    let _ = changed.changed().await;
                }
            };
            Ok(timeout(RECEIVER_WAIT, wait).await.unwrap_or_default())
        })
    }
}
