//! The stores of `mcp-runtime`: traits for everything that outlives a request or that the instances of a server share, each
//! with a store in memory and with its rules as tests.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers and databases need. Items in
//! this crate may change or disappear in any release, including patch releases.
//!
//! [`Backend`] combines all stores. What uses those for rates and for change notifications is in this crate as well; tasks,
//! large results and HTTP use theirs. The trait for the steps of calls is in the core: `OnceStore`.
#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
#[cfg(feature = "testing")]
mod contracts;
mod definition_store;
#[cfg(feature = "http")]
mod event_store;
mod instance_relay;
mod instances;
mod memory_once;
#[cfg(feature = "http")]
mod memory_sessions;
mod memory_tasks;
mod rate_store;
#[cfg(feature = "http")]
mod readiness;
mod result_store;
mod sealed_tasks;
#[cfg(all(feature = "testing", feature = "http"))]
mod session_contract;
#[cfg(feature = "http")]
mod session_store;
#[cfg(any(feature = "testing", test))]
mod task_contract;
mod task_store;
mod timeout;
mod timestamp;

use std::collections::BTreeSet;

pub use backend::Backend;
#[cfg(feature = "testing")]
pub use contracts::{
    check_definition_store, check_once_limits, check_once_store, few_once_entries,
};
pub use definition_store::{DefinitionStore, MemoryDefinitionStore, StoredDefinitions};
#[cfg(feature = "http")]
pub use event_store::{EventStore, MemoryEvents, StreamEntry};
pub use instance_relay::{InstanceRelay, MemoryInstanceRelay, NotificationRelay, RelayedTexts};
pub use memory_once::MemoryOnceStore;
#[cfg(feature = "http")]
pub use memory_sessions::MemorySessions;
pub use memory_tasks::MemoryTaskStore;
pub use rate_store::{RateDecision, RateFallback, RateStore, RateToken};
#[cfg(feature = "http")]
#[doc(hidden)]
pub use readiness::{ReadinessProbe, ReadyCheck};
pub use result_store::{KeptResult, MemoryResultStore, ResultId, ResultStore};
#[doc(hidden)]
pub use sealed_tasks::SealedTaskStore;
#[cfg(all(feature = "testing", feature = "http"))]
pub use session_contract::{check_event_store, check_session_store};
#[cfg(feature = "http")]
#[doc(hidden)]
pub use session_store::{ById, SessionUpdate, StoreFailed, is_valid_id, random_id};
#[cfg(feature = "http")]
pub use session_store::{MaybeReady, SessionRecord, SessionStore};
#[cfg(feature = "testing")]
pub use task_contract::check_task_store;
#[doc(hidden)]
pub use task_store::NOT_STARTED_AGAIN;
pub use task_store::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskOutcome, TaskPage, TaskStatus, TaskStep, TaskStore,
};
#[doc(hidden)]
pub use timeout::timeout_while_running;
#[doc(hidden)]
pub use timestamp::timestamp;
use tokio::time::Instant;

/// The keys of a table in the order in which their entries expire.
#[derive(Debug)]
pub struct ExpiryOrder<K>(BTreeSet<(Instant, K)>);

impl<K> Default for ExpiryOrder<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord + Clone> ExpiryOrder<K> {
    /// Adds a key.
    pub fn insert(&mut self, expires: Instant, key: K) {
        self.0.insert((expires, key));
    }

    /// Removes a key, if it is there with this time.
    pub fn remove(&mut self, expires: Instant, key: &K) {
        self.0.remove(&(expires, key.clone()));
    }

    /// Returns the earliest time at which an entry expires.
    #[must_use]
    pub fn first(&self) -> Option<Instant> {
        self.0.first().map(|(expires, _)| *expires)
    }

    /// Removes and returns a key whose entry has expired by `now`, or `None` if there are no more such keys.
    pub fn pop_expired(&mut self, now: Instant) -> Option<K> {
        self.0.first().filter(|(expires, _)| *expires <= now)?;
        self.0.pop_first().map(|(_, key)| key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
