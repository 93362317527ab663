//! The interface for task stores.

use std::sync::Arc;
use std::time::Duration;

use crate::context::{ClaimId, OnceClaim, StoreFuture};
use crate::stores::task::{NewTask, StoredTask, TaskChange, TaskDetails, TaskPage};
use crate::stores::task_id::TaskId;

/// A store's response to a request to create a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses contain a task, which is moved once"
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
    reason = "most responses contain a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskChanged {
    /// The task after the change.
    Changed(StoredTask),
    /// The task has not changed, because the version is not current or the task is final or no longer exists.
    Unchanged,
    /// The task has not changed, because the store has no room for the changed task.
    Full,
}

/// A store's response to a process that is ready to run another task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses contain a task, which is moved once"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TaskClaim {
    /// A task that was due, with its new attempt.
    Claimed(StoredTask),
    /// No task is due, apart from the exceptions. The next task becomes due after this time, unless all working tasks
    /// are already due.
    Wait(Option<Duration>),
}

/// The due tasks that a process does not claim at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimExceptions {
    /// The tasks that the process holds. If the process was paused, their leases may have lapsed before it could renew
    /// them.
    pub tasks: Vec<TaskId>,
    /// The tools that are already running as often as their `concurrency` option allows in the process.
    pub tools: Vec<Arc<str>>,
}

impl ClaimExceptions {
    /// Returns `true` if this task must not be claimed.
    #[must_use]
    pub fn contains(&self, task: &StoredTask) -> bool {
        self.tasks.contains(&task.id) || self.tools.contains(&task.tool)
    }
}

/// A task store, for [`Server::task_store`](crate::Server::task_store).
///
/// **Open**: implement it on top of a database. To test an implementation, run `backend::check_task_store` (with the
/// `testing` feature). The rules are:
///
/// - A task can be found from its creation until its time to live expires, but not after that.
/// - Every change and every claim increases the version. [`change`](Self::change) is a compare-and-swap by version, so
///   a change that has been overtaken by another change has no effect.
/// - A final task never changes, except that an operator can [retry](Self::retry) a task that has failed.
/// - The process that runs a task holds a lease on it. A working task without a lease is **due**, which means that any
///   process can claim it. A task whose lease has lapsed is also due, because its process has died. Each claim starts a
///   new attempt, and an older attempt cannot renew its lease or begin or complete a step. The latest attempt can, even
///   after its lease has lapsed.
///
/// An error means that the store is not working, for example because it cannot be reached. The request that needs the
/// store then fails, and the error is logged. Each method must be safe to drop at any `await`.
pub trait TaskStore: Send + Sync + 'static {
    /// Returns `true` if tasks outlive the process, so that another process can continue them. Servers then store all
    /// the data that a call needs ([`NewTask::call`]), claim due tasks while they accept requests, and give their
    /// leases back when they stop. The default is `false`: when the server stops, its tasks are cancelled.
    fn outlives_process(&self) -> bool {
        false
    }

    /// Creates a task with the status `working`. The task's creator holds the lease as the first attempt.
    ///
    /// If the owner already has a task with this id, the store returns it as it was created: ids are random, so this is
    /// the same creation, whose first reply was lost. If another owner has such a task, this is an error.
    ///
    /// After an error, there must be no such task, now or later, because the server answers that the call has failed,
    /// and the client may repeat the call. A store that does not know whether it has created the task has to find out
    /// or to delete the task as soon as it works again.
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation>;

    /// Returns the task with this id, unless it does not exist or its time to live has ended.
    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>>;

    /// Returns at most `max` of a caller's tasks, oldest first, from the beginning or from the cursor of an earlier
    /// page. Returns `None` if the cursor is invalid.
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

    /// Claims a task if it is due. Returns the task with its new attempt.
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>>;

    /// Claims a due task that is not one of the exceptions. The callers with such tasks take turns, and each caller's
    /// tasks are claimed in the order in which they became due. A store that is divided can do so in each of its parts,
    /// and the order of the turns can be kept in the process.
    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim>;

    /// Renews an attempt's lease for the duration `lease` from now. Returns `false` if this is not the latest attempt,
    /// or if the task is no longer working.
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool>;

    /// Gives back an attempt's lease, so that the task is due after this time. The attempt is no longer counted in
    /// [`tries`](StoredTask::tries). Does nothing for an older attempt.
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()>;

    /// Waits until a process has [given back](Self::release) a lease, so that a task may be due earlier than
    /// [`claim_due`](Self::claim_due) has said. May return early. Each time counts that is after the previous call of this
    /// method. Servers that cannot be told, which is the default, look for due tasks every five seconds.
    fn released(&self) -> StoreFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Waits until a task's version is no longer `version` or the task no longer exists. May return early.
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()>;

    /// Claims a step in a task. The step is done at most once, no matter how many attempts there are. If the step was
    /// granted to the same `claim`, it is granted again, because the first reply may have been lost. Fails with a
    /// [`StoreRefusal`](crate::once::StoreRefusal) for an older attempt, and if there is no room for the step.
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim>;

    /// Records that a step is done, stores its result as JSON, and sets [`tries`](StoredTask::tries) to 1 if it is
    /// greater. Does nothing if a result is already stored. Fails with a [`StoreRefusal`](crate::once::StoreRefusal) for
    /// an older attempt, and if there is no room for the result.
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()>;

    /// Records that a step failed and may be claimed again. Does nothing for an older attempt, or if the step was
    /// granted to another claim.
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()>;

    /// Deletes all of a caller's tasks, regardless of their status. Returns the number of deleted tasks.
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize>;

    /// Returns at most `max` tasks of all callers, in any order, from the beginning or from the cursor of an earlier
    /// page. A task that exists throughout is on one of the pages. Returns `None` if the cursor is invalid. Used only
    /// by operators.
    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>>;

    /// Returns a task with its steps and its lease, unless it does not exist or its time to live has ended. Used only
    /// by operators.
    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>>;

    /// Makes a failed task [work again](StoredTask::retry), due immediately, if its version is still `version` and it
    /// [can be retried](StoredTask::can_be_retried). Forgets the step `not_done` if it was begun and is not known to be
    /// done, so that it is done again; all other steps remain. Used only by operators.
    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged>;
}
