//! The interface for task stores.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_core::context::{ClaimId, OnceClaim, StoreFuture};
use mcp_core::random::RandomId;

/// A store's response to a request to create a task.
#[allow(
    clippy::large_enum_variant,
    reason = "most responses contain a task, which is moved once"
)]
#[derive(Clone, Debug)]
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
    /// Creates exceptions for the tasks that a process holds and the tools that it has no room for.
    #[must_use]
    pub fn new(tasks: Vec<TaskId>, tools: Vec<Arc<str>>) -> Self {
        Self { tasks, tools }
    }

    /// Returns `true` if this task must not be claimed.
    #[must_use]
    pub fn contains(&self, task: &StoredTask) -> bool {
        self.tasks.contains(&task.id) || self.tools.contains(&task.tool)
    }
}

/// A task store, for `Backend::tasks`.
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
    /// `StoreRefusal` for an older attempt, and if there is no room for the step.
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim>;

    /// Records that a step is done, stores its result as JSON, and sets [`tries`](StoredTask::tries) to 1 if it is
    /// greater. Does nothing if a result is already stored. Fails with a `StoreRefusal` for
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

/// A task's status. The last three are final: a task with one of these statuses never changes again.
///
/// Source: revision 2025-11-25, schema `TaskStatus`; the same in the extension `io.modelcontextprotocol/tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskStatus {
    /// The task is running or waiting to run.
    Working,
    /// The task is waiting for answers from its client and is not running.
    InputRequired,
    /// The task has a result, which may report that the tool failed.
    Completed,
    /// The task ended with a protocol error.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Returns `true` if a task with this status never changes again.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the name used on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A task to be created.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewTask {
    /// The id.
    pub id: TaskId,
    /// The key of the caller ([`Caller::key`](mcp_core::context::Caller::key)).
    pub owner: Arc<str>,
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The duration for which the task is kept, from its creation.
    pub ttl: Duration,
    /// The time that clients should wait between two polls.
    pub poll_interval: Duration,
    /// The initial [`state`](StoredTask::state).
    pub state: Arc<str>,
    /// The data that another process needs to run the call, as text that is opaque to stores. Empty if the store does
    /// not outlive the process.
    pub call: Arc<str>,
    /// The duration for which the creator holds the lease.
    pub lease: Duration,
    /// Size in bytes of the data, such as the arguments, that the process running the task keeps outside the store
    /// until the task is final. Stores that limit their size count these bytes as their own.
    pub call_bytes: usize,
}

impl NewTask {
    /// Creates a task with a new id, an empty state and call, a lease of 30 seconds, a time to live of one hour, and
    /// polls every second.
    #[must_use]
    pub fn new(owner: impl Into<Arc<str>>, tool: impl Into<Arc<str>>) -> Self {
        Self {
            id: TaskId::random(),
            owner: owner.into(),
            tool: tool.into(),
            ttl: Duration::from_hours(1),
            poll_interval: Duration::from_secs(1),
            state: "".into(),
            call: "".into(),
            lease: Duration::from_secs(30),
            call_bytes: 0,
        }
    }
}

/// A task as read from a store. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredTask {
    /// The id.
    pub id: TaskId,
    /// The key of the caller who owns the task.
    pub owner: Arc<str>,
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The status.
    pub status: TaskStatus,
    /// A human-readable description of the status.
    pub message: Option<Arc<str>>,
    /// The time of creation.
    pub created_at: SystemTime,
    /// The time of the last change.
    pub updated_at: SystemTime,
    /// The duration for which the task is kept, from its creation.
    pub ttl: Duration,
    /// The time that clients should wait between two polls.
    pub poll_interval: Duration,
    /// The task's version, which increases with every change and every claim.
    pub version: u64,
    /// Number of claims so far, including the creator's, which is the first. Only the latest attempt may write.
    pub attempt: u64,
    /// Number of claims since the task was created or last waited for answers, excluding those that were given back.
    /// The creator's claim is the first. A completed step sets the number back to 1, because the attempt got further. If
    /// the number exceeds [`limits.tasks.max_attempts`](mcp_core::limits::Limits), the task fails.
    pub tries: u32,
    /// The task's state between two runs, as text that is opaque to stores.
    pub state: Arc<str>,
    /// The data that another process needs to run the call, or an empty string. It is dropped when the task is final,
    /// unless the task [can be retried](Self::can_be_retried).
    pub call: Arc<str>,
    /// The outcome of a completed or failed task.
    pub outcome: Option<TaskOutcome>,
    /// Size in bytes of the data that the process running the task keeps outside the store until the task is final.
    pub call_bytes: usize,
    /// `true` if a part that the status makes necessary is sealed with a key that the server does not have.
    #[doc(hidden)]
    pub is_sealed: bool,
}

impl StoredTask {
    /// Creates the first version of a task, stored at this time.
    #[must_use]
    pub fn created(task: &NewTask, now: SystemTime) -> Self {
        Self {
            id: task.id.clone(),
            owner: Arc::clone(&task.owner),
            tool: Arc::clone(&task.tool),
            status: TaskStatus::Working,
            message: None,
            created_at: now,
            updated_at: now,
            ttl: task.ttl,
            poll_interval: task.poll_interval,
            version: 1,
            attempt: 1,
            tries: 1,
            state: Arc::clone(&task.state),
            call: Arc::clone(&task.call),
            outcome: None,
            call_bytes: task.call_bytes,
            is_sealed: false,
        }
    }

    /// Applies a change that was made at this time.
    pub fn apply(&mut self, change: TaskChange, now: SystemTime) {
        self.status = change.status;
        self.message = change.message;
        if let Some(state) = change.state {
            self.state = state;
        }
        self.outcome = change.outcome;
        if self.status == TaskStatus::InputRequired {
            self.tries = 0;
        }
        if self.status.is_final() {
            self.call_bytes = 0;
            if !self.has_failed() || self.state.is_empty() {
                self.call = "".into();
            }
        }
        self.touch(now);
    }

    /// Returns `true` if the task has failed: with a protocol error, or with a result that reports a tool failure.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let has_failure =
            matches!(&self.outcome, Some(TaskOutcome::Result { is_error, .. }) if *is_error);
        self.status == TaskStatus::Failed || self.status == TaskStatus::Completed && has_failure
    }

    /// Returns `true` if the task has failed and still has everything that it needs to run again. Stores keep the steps
    /// of such a task.
    #[must_use]
    pub fn can_be_retried(&self) -> bool {
        self.has_failed() && !self.call.is_empty()
    }

    /// Resets a failed task to working, as requested by an operator at this time. Its tries are reset to zero.
    pub fn retry(&mut self, now: SystemTime) {
        self.status = TaskStatus::Working;
        self.message = None;
        self.outcome = None;
        self.tries = 0;
        self.touch(now);
    }

    fn touch(&mut self, now: SystemTime) {
        // If the clock is set back, the time of the last change must remain the same.
        self.updated_at = now.max(self.updated_at);
        self.version = self.version.saturating_add(1);
    }

    /// Begins a new attempt at the task.
    pub fn begin_attempt(&mut self) {
        self.attempt = self.attempt.saturating_add(1);
        self.tries = self.tries.saturating_add(1);
        self.version = self.version.saturating_add(1);
    }

    /// Sets the number of tries back to 1, because the current attempt has completed a step.
    pub fn step_completed(&mut self) {
        self.tries = self.tries.min(1);
    }

    /// Returns the size of the strings and the call in bytes, for stores with a size limit.
    #[must_use]
    pub fn size(&self) -> usize {
        let outcome = match &self.outcome {
            Some(TaskOutcome::Result { json, .. } | TaskOutcome::Error { json }) => json.len(),
            None => 0,
        };
        let message = self.message.as_ref().map_or(0, |message| message.len());
        let names = self.owner.len() + self.tool.len();
        let texts = names + self.state.len() + self.call.len() + outcome + message;
        texts.saturating_add(self.call_bytes)
    }
}

/// The end of the error message of a task that was started too many times.
#[doc(hidden)]
pub const NOT_STARTED_AGAIN: &str = "it is not started again";

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The result of the call.
    Result {
        /// A JSON object: the entire result that a plain call would have returned.
        json: Arc<str>,
        /// `true` if the result reports that the tool failed.
        is_error: bool,
    },
    /// A protocol error.
    Error {
        /// A JSON object with `code`, `message` and optionally `data`.
        json: Arc<str>,
    },
}

/// A change to a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskChange {
    /// The new status.
    pub status: TaskStatus,
    /// The new message, if there is one.
    pub message: Option<Arc<str>>,
    /// The new state, or `None` to keep it.
    pub state: Option<Arc<str>>,
    /// The outcome, if the task has completed or failed.
    pub outcome: Option<TaskOutcome>,
}

impl TaskChange {
    /// Creates a change to this status that keeps the state and does not set a message.
    #[must_use]
    pub const fn to(status: TaskStatus) -> Self {
        Self {
            status,
            message: None,
            state: None,
            outcome: None,
        }
    }

    /// Sets the message.
    #[must_use]
    pub fn message(mut self, message: impl Into<Arc<str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Replaces the state.
    #[must_use]
    pub fn state(mut self, state: impl Into<Arc<str>>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Sets the outcome.
    #[must_use]
    pub fn outcome(mut self, outcome: TaskOutcome) -> Self {
        self.outcome = Some(outcome);
        self
    }
}

/// A page of tasks.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<StoredTask>,
    /// The cursor for the next page, if there is one.
    pub next: Option<String>,
}

impl TaskPage {
    /// Creates a page.
    #[must_use]
    pub const fn new(tasks: Vec<StoredTask>, next: Option<String>) -> Self {
        Self { tasks, next }
    }
}

/// A task as operators see it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskDetails {
    /// The task.
    pub task: StoredTask,
    /// The time after which any process can claim the task, because its lease has lapsed by then: zero if the task is
    /// already due, and `None` unless it is working.
    pub due_in: Option<Duration>,
    /// The steps that have been started, in any order.
    pub steps: Vec<TaskStep>,
}

impl TaskDetails {
    /// Describes a task that is due after this time.
    #[must_use]
    pub const fn new(task: StoredTask, due_in: Option<Duration>, steps: Vec<TaskStep>) -> Self {
        Self {
            task,
            due_in,
            steps,
        }
    }
}

/// A step of a task, without its result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct TaskStep {
    /// The name.
    pub name: String,
    /// `true` if the step is known to be done. If it is not and its attempt is over, its outcome is unknown.
    pub is_done: bool,
}

impl TaskStep {
    /// Describes a step.
    #[must_use]
    pub fn new(name: impl Into<String>, is_done: bool) -> Self {
        Self {
            name: name.into(),
            is_done,
        }
    }
}

/// A task's id: 192 random bits, encoded as 32 characters of URL-safe base64. An id is never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(RandomId);

impl TaskId {
    /// Creates an id from bytes of the operating system's random number generator. It does not begin with a hyphen.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomId::random())
    }

    /// Parses an id. Returns `None` if the text is not a valid id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        RandomId::parse(text).map(Self)
    }

    /// Returns the id as sent on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shows only the first characters, because any anonymous caller who knows the id of an anonymous caller's task can use
/// the task.
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({:?})", self.0)
    }
}
