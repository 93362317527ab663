//! Stores for what outlives a request: tasks. Each store is a trait that a program can implement, with one in memory as
//! the default.
//!
//! The store of sessions and that of events are in [`http`](crate::http), the one for steps of calls in
//! [`once`](crate::once).

#[cfg(any(feature = "testing", test))]
mod contract;
mod memory_tasks;
mod task;
mod task_store;

#[cfg(feature = "testing")]
pub use contract::check_task_store;
pub use memory_tasks::MemoryTaskStore;
pub use task::{NewTask, StoredTask, TaskChange, TaskId, TaskOutcome, TaskPage, TaskStatus};
pub use task_store::{TaskChanged, TaskClaim, TaskCreation, TaskStore};
