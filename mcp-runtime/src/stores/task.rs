//! A task in its stored form. The wire forms are in `extension/tasks`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::stores::task_id::TaskId;

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
    /// The key of the caller ([`Caller::key`](crate::Caller::key)).
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
    /// the number exceeds [`limits.tasks.max_attempts`](crate::Limits), the task fails.
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
    pub(crate) is_sealed: bool,
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

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
