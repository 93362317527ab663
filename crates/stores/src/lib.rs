//! The traits for task stores and large-result stores, each with an in-memory store as the default, and the traits for
//! relays between instances: one for change notifications and one for clients' messages. A program can implement all of
//! these traits, and those for rate limits and definitions that instances share.
//!
//! The stores for sessions and events are in `http`, and the trait for the steps of calls is in `context`. `backend`
//! combines all of them in a single value.

#[cfg(feature = "testing")]
mod contracts;
mod definition_store;
mod instance_relay;
mod memory_once;
mod memory_tasks;
mod rate_store;
mod result_store;
#[cfg(any(feature = "testing", test))]
mod task_contract;
mod task_store;

use std::collections::BTreeSet;

use tokio::time::Instant;

pub use definition_store::{DefinitionStore, MemoryDefinitionStore, StoredDefinitions};
pub use instance_relay::{InstanceRelay, MemoryInstanceRelay, NotificationRelay, RelayedTexts};
pub use memory_once::MemoryOnceStore;
pub use memory_tasks::MemoryTaskStore;
pub use rate_store::{RateDecision, RateFallback, RateStore, RateToken};
pub use result_store::{KeptResult, MemoryResultStore, ResultId, ResultStore};
pub use task_store::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskOutcome, TaskPage, TaskStatus, TaskStep, TaskStore,
};

#[cfg(all(feature = "testing", feature = "http"))]
pub(crate) use contracts::check_instance_relay;
#[cfg(feature = "testing")]
pub use contracts::{
    check_definition_store, check_once_limits, check_once_store, few_once_entries,
};
#[cfg(feature = "testing")]
pub(crate) use contracts::{check_notification_relay, check_rate_store, check_result_store};
#[cfg(feature = "testing")]
pub use task_contract::check_task_store;

/// The keys of a table in the order in which their entries expire.
#[derive(Debug)]
pub(crate) struct ExpiryOrder<K>(BTreeSet<(Instant, K)>);

impl<K> Default for ExpiryOrder<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord + Clone> ExpiryOrder<K> {
    pub(crate) fn insert(&mut self, expires: Instant, key: K) {
        self.0.insert((expires, key));
    }

    pub(crate) fn remove(&mut self, expires: Instant, key: &K) {
        self.0.remove(&(expires, key.clone()));
    }

    /// Returns the earliest time at which an entry expires.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(expires, _)| *expires)
    }

    /// Removes and returns a key whose entry has expired by `now`, or `None` if there are no more such keys.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<K> {
        self.0.first().filter(|(expires, _)| *expires <= now)?;
        self.0.pop_first().map(|(_, key)| key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
