//! The traits for task stores and large-result stores, each with an in-memory store as the default, and the traits for
//! relays between instances: one for change notifications and one for clients' messages. A program can implement all of
//! these traits, and those for rate limits and definitions that instances share.
//!
//! The stores for sessions and events are in `http`, and the trait for the steps of calls is in `context`. `backend`
//! combines all of them in a single value.

#[cfg(feature = "testing")]
mod contracts;
mod definition_store;
mod expiry;
mod instance_relay;
mod memory_once;
mod memory_tasks;
mod rate_store;
mod result_store;
#[cfg(any(feature = "testing", test))]
mod task_contract;
mod task_store;

#[cfg(feature = "testing")]
pub use contracts::check_definition_store;
#[cfg(feature = "testing")]
pub use task_contract::check_task_store;

pub use definition_store::{DefinitionStore, MemoryDefinitionStore, StoredDefinitions};
pub(crate) use expiry::ExpiryOrder;
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
pub(crate) use contracts::check_notification_relay;
#[cfg(feature = "testing")]
pub(crate) use contracts::check_rate_store;
#[cfg(feature = "testing")]
pub(crate) use contracts::check_result_store;
#[cfg(feature = "testing")]
pub use contracts::{check_once_limits, check_once_store, few_once_entries};
