//! The interface of stores for tasks.

use std::time::Duration;

use crate::backend::task::{NewTask, StoredTask, TaskChange, TaskId, TaskPage};
use crate::context::{OnceClaim, StoreFuture};

/// A store's response to a task to be created.
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

/// A store of tasks, for [`Server::task_store`](crate::Server::task_store).
///
/// **Unstable**: as it is today, only one process runs the tasks of a store: another process finds them, but it does not
/// have their calls and cannot go on with them. The methods for that, by which a process claims what is due, will be added
/// in a later version, and implementations will have to follow.
///
/// Run `backend::check_task_store` (feature `testing`) against an implementation. The rules are:
///
/// - A task is found from its creation until its time to live ends, and never after that.
/// - Every change and every claim makes the version greater. [`change`](Self::change) is a compare-and-swap by version,
///   so a change that another one has overtaken changes nothing.
/// - A final task never changes.
/// - The process that runs a task has a lease of it. A lapsed lease can be claimed; each claim is a new attempt, and an older
///   attempt can neither renew its lease nor begin or complete a step.
///
/// Errors are for a store that does not work, such as one that cannot be reached: the request that needs it fails, and
/// the error is logged. Each method must be safe to drop at any `await`.
pub trait TaskStore: Send + Sync + 'static {
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
    /// the lease.
    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged>;

    /// Claims a task whose status is `working` and whose lease has lapsed or was given back. Returns the task with its new attempt.
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>>;

    /// Renews the lease of an attempt for `lease` from now. Returns `false` if it is not the latest attempt, or if the
    /// task is no longer working.
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool>;

    /// Gives back the lease of an attempt, so that the task can be claimed at once. Does nothing for an older attempt.
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64) -> StoreFuture<'a, ()>;

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
