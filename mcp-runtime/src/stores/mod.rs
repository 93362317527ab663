//! The trait for task stores, with an in-memory store as the default, and the trait for relays that carry change
//! notifications between instances. A program can implement both.
//!
//! The stores for sessions and events are in `http`, and the store for the steps of calls is in `context`. `server`
//! holds all of them in one value.

#[cfg(any(feature = "testing", test))]
mod contract;
mod memory_tasks;
mod notification_relay;
#[cfg(feature = "testing")]
mod relay_contract;
mod task;
mod task_store;

#[cfg(feature = "testing")]
pub use contract::check_task_store;
pub use memory_tasks::MemoryTaskStore;
pub use notification_relay::{NotificationRelay, RelayedTexts};
#[cfg(feature = "testing")]
pub(crate) use relay_contract::check_notification_relay;
pub use task::{NewTask, StoredTask, TaskChange, TaskId, TaskOutcome, TaskPage, TaskStatus};
pub use task_store::{TaskChanged, TaskClaim, TaskCreation, TaskStore};
