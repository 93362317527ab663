//! The interface for task stores.

use std::time::Duration;

use crate::context::{OnceClaim, StoreFuture};
use crate::stores::task::{NewTask, StoredTask, TaskChange, TaskId, TaskPage};

/// A store's response to a request to create a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskCreation {
    /// The task exists, and all processes that share the store can find it from now on.
    Created(StoredTask),
    /// The caller has too many tasks.
    CallerFull,
    /// The store has too many tasks.
    Full,
}

/// A store's response to a request to change a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskChanged {
    /// The task after the change.
    Changed(StoredTask),
    /// Nothing has changed, because the version is not current or the task is final or gone.
    Unchanged,
    /// Nothing has changed, because the store has no room for the changed task.
    Full,
}

/// A store's response to a process that can run another task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskClaim {
    /// A task that was due, with its new attempt.
    Claimed(StoredTask),
    /// No task is due. The next one becomes due after this time, unless no task is working.
    Wait(Option<Duration>),
}

/// A store for tasks, for [`Server::task_store`](crate::Server::task_store).
///
/// **Open**: implement it on a database. Run `backend::check_task_store` (feature `testing`) against an implementation. The rules are:
///
/// - A task can be found from its creation until its time to live ends, and never after that.
/// - Every change and every claim increases the version. [`change`](Self::change) is a compare-and-swap by version, so
///   a change that another one has overtaken has no effect.
/// - A final task never changes.
/// - The process that runs a task, or has it in its queue, holds a lease on it. A working task without a lease is
///   **due**, which means that any process can claim it. A task whose lease has lapsed is also due, because its process
///   has died. Each claim is a new attempt, and an older attempt can neither renew its lease nor begin or complete a
///   step.
///
/// An error means that the store does not work, for example because it cannot be reached. The request that needs the
/// store then fails, and the error is logged. Each method must be safe to drop at any `await`.
pub trait TaskStore: Send + Sync + 'static {
    /// Returns `true` if tasks outlive the process, so that it or another process can continue them. Servers then store
    /// everything that a call needs ([`NewTask::call`]), claim due tasks while they accept requests, and give their
    /// leases back when they stop. The default is `false`: when the server stops, its tasks are cancelled.
    fn outlives_process(&self) -> bool {
        false
    }

    /// Creates a task with the status `working`. Its creator holds the lease as the first attempt.
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation>;

    /// Returns the task with this id, unless it does not exist or its time to live has ended.
    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>>;

    /// Returns at most `max` tasks of a caller, oldest first, from the beginning or from the cursor of an earlier page.
    /// Returns `None` if the cursor is invalid.
    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>>;

    /// Changes a task if its version is still `version` and its status is not final. A status other than `working` ends
    /// the lease, so a task whose questions have been answered is due.
    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged>;

    /// Claims a task if it is due. Returns it with its new attempt.
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>>;

    /// Claims the task that has been due for the longest time.
    fn claim_due(&self, lease: Duration) -> StoreFuture<'_, TaskClaim>;

    /// Renews an attempt's lease for `lease` from now. Returns `false` if it is not the latest attempt, or if the task
    /// is no longer working.
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool>;

    /// Gives back an attempt's lease, so that the task is due after this time. The attempt no longer counts in
    /// [`tries`](StoredTask::tries). Does nothing for an older attempt.
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()>;

    /// Waits until a task's version is no longer `version`, or the task no longer exists. It may return early.
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()>;

    /// Claims a step in a task. The step is done at most once, however many attempts there are. Fails for an older
    /// attempt.
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, OnceClaim>;

    /// Records that a step is done and stores its result as JSON. Fails for an older attempt.
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()>;

    /// Records that a step failed and may be claimed again. Does nothing for an older attempt.
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, ()>;

    /// Deletes all of a caller's tasks, whatever their status. Returns the number of deleted tasks.
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize>;
}
