//! The store for tasks: a trait that a program can implement, with a store in memory as the default. The relay of change notifications
//! between instances, a trait as well.
//!
//! The stores of sessions and of events are in `http`, the one for steps of calls in `context`. `server` has all of them in one value.

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
