//! The interface of stores for tasks.

use std::time::Duration;

use crate::context::{OnceClaim, StoreFuture};
use crate::stores::task::{NewTask, StoredTask, TaskChange, TaskId, TaskPage};

/// A store's response to a task to be created.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskCreation {
    /// The task exists, and all processes that share the store find it from now on.
    Created(StoredTask),
    /// The caller has too many tasks.
    CallerFull,
    /// The store has too many tasks.
    Full,
}

/// A store's response to a change of a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskChanged {
    /// The task as it is now.
    Changed(StoredTask),
    /// Nothing has changed: the version is not current, or the task is final or gone.
    Unchanged,
    /// Nothing has changed: the store has no room for what the task would take.
    Full,
}

/// A store's response to a process that has room for a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses have a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskClaim {
    /// A task that was due, with its new attempt.
    Claimed(StoredTask),
    /// No task is due. The next one is after this time, unless none is working.
    Wait(Option<Duration>),
}

/// A store of tasks, for [`Server::task_store`](crate::Server::task_store).
///
/// **Open**: implement it on a database. Run `backend::check_task_store` (feature `testing`) against an implementation. The rules are:
///
/// - A task is found from its creation until its time to live ends, and never after that.
/// - Every change and every claim makes the version greater. [`change`](Self::change) is a compare-and-swap by version,
///   so a change that another one has overtaken changes nothing.
/// - A final task never changes.
/// - The process that runs a task, or has it in its queue, has a lease of it. A working task without a lease is **due**: any
///   process can claim it. So is one whose lease has lapsed, because its process has died. Each claim is a new attempt,
///   and an older attempt can neither renew its lease nor begin or complete a step.
///
/// Errors are for a store that does not work, such as one that cannot be reached: the request that needs it fails, and
/// the error is logged. Each method must be safe to drop at any `await`.
pub trait TaskStore: Send + Sync + 'static {
    /// Returns `true` if tasks outlive the process, so that it or another one can go on with them. Servers then store all
    /// that a call needs ([`NewTask::call`]), claim what is due while they serve, and give their leases back when they
    /// stop. The default is `false`: when the server stops, its tasks are cancelled.
    fn outlives_process(&self) -> bool {
        false
    }

    /// Creates a task with the status `working`, whose creator has the lease as the first attempt.
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation>;

    /// Returns a task, unless there is none with this id or its time to live has ended.
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

    /// Renews the lease of an attempt for `lease` from now. Returns `false` if it is not the latest attempt, or if the
    /// task is no longer working.
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool>;

    /// Gives back the lease of an attempt, so that the task is due after this time. The attempt no longer counts in
    /// [`tries`](StoredTask::tries). Does nothing for an older attempt.
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()>;

    /// Waits until the version of a task is no longer `version`, or the task no longer exists. It may return early.
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()>;

    /// Claims a step of a task, which is done at most once however many attempts there are. Fails for an older attempt.
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

    /// Deletes all tasks of a caller, whatever their status. Returns their number.
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize>;
}
