//! The traits for task stores and large-result stores, each with an in-memory store as the default, and the traits for
//! relays between instances: one for change notifications and one for clients' messages. A program can implement all of
//! these traits, and those for rate limits and definitions that instances share.
//!
//! The stores for sessions and events are in `http`, and the trait for the steps of calls is in `context`. `backend`
//! combines all of them in a single value.

#[cfg(any(feature = "testing", test))]
mod contract;
#[cfg(feature = "testing")]
mod definition_contract;
mod definition_store;
mod expiry;
#[cfg(all(feature = "testing", feature = "http"))]
mod instance_contract;
mod instance_relay;
mod memory_definitions;
mod memory_instances;
mod memory_once;
mod memory_results;
mod memory_tasks;
mod notification_relay;
#[cfg(feature = "testing")]
mod once_contract;
#[cfg(feature = "testing")]
mod rate_contract;
mod rate_store;
#[cfg(feature = "testing")]
mod relay_contract;
#[cfg(feature = "testing")]
mod result_contract;
mod result_store;
mod task;
mod task_id;
mod task_store;

#[cfg(feature = "testing")]
pub use contract::check_task_store;
#[cfg(feature = "testing")]
pub use definition_contract::check_definition_store;
pub use definition_store::{DefinitionStore, StoredDefinitions};
pub(crate) use expiry::ExpiryOrder;
#[cfg(all(feature = "testing", feature = "http"))]
pub(crate) use instance_contract::check_instance_relay;
pub use instance_relay::InstanceRelay;
pub use memory_definitions::MemoryDefinitionStore;
pub use memory_instances::MemoryInstanceRelay;
pub use memory_once::MemoryOnceStore;
pub use memory_results::MemoryResultStore;
pub use memory_tasks::MemoryTaskStore;
pub use notification_relay::{NotificationRelay, RelayedTexts};
#[cfg(feature = "testing")]
pub use once_contract::{check_once_limits, check_once_store, few_once_entries};
#[cfg(feature = "testing")]
pub(crate) use rate_contract::check_rate_store;
pub use rate_store::{RateDecision, RateFallback, RateStore, RateToken};
#[cfg(feature = "testing")]
pub(crate) use relay_contract::check_notification_relay;
#[cfg(feature = "testing")]
pub(crate) use result_contract::check_result_store;
pub use result_store::{KeptResult, ResultId, ResultStore};
pub use task::{
    NewTask, StoredTask, TaskChange, TaskDetails, TaskOutcome, TaskPage, TaskStatus, TaskStep,
};
pub use task_id::TaskId;
pub use task_store::{ClaimExceptions, TaskChanged, TaskClaim, TaskCreation, TaskStore};
