//! A task as stores keep it. Its forms on the wire are in `extension/tasks`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::random;

/// A task's id: 192 random bits, as 32 characters of URL-safe base64. It is never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

impl TaskId {
    /// Number of random bytes.
    const BYTES: usize = 24;
    /// Number of characters.
    const CHARACTERS: usize = Self::BYTES / 3 * 4;

    /// Creates an id from bytes of the operating system's random number generator.
    #[must_use]
    pub fn random() -> Self {
        Self(random::random_id::<{ Self::BYTES }>().into())
    }

    /// Reads an id. Returns `None` if the text cannot be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (text.len() == Self::CHARACTERS && text.chars().all(is_valid)).then(|| Self(text.into()))
    }

    /// Returns the id as sent on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows only the first characters, because any anonymous caller who knows an anonymous caller's id can use the task.
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({}…)", self.0.get(..6).unwrap_or_default())
    }
}

/// A task's status. The last three are final, so a task with one of them never changes again.
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

    /// Returns the name on the wire.
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
    /// The time from its creation for which the task is kept.
    pub ttl: Duration,
    /// The time that clients should wait between two polls.
    pub poll_interval: Duration,
    /// The initial [`state`](StoredTask::state).
    pub state: Arc<str>,
    /// Everything that another process needs in order to run the call, as text that is opaque to stores. Empty if the
    /// store does not outlive the process.
    pub call: Arc<str>,
    /// The time for which the creator holds the lease.
    pub lease: Duration,
    /// Number of bytes that the process running the task keeps outside the store until the task is final, such as the
    /// arguments. Stores that limit their size count these bytes as their own.
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
    /// A human-readable sentence about the status.
    pub message: Option<Arc<str>>,
    /// The time of creation.
    pub created_at: SystemTime,
    /// The time of the last change.
    pub updated_at: SystemTime,
    /// The time from its creation for which the task is kept.
    pub ttl: Duration,
    /// The time that clients should wait between two polls.
    pub poll_interval: Duration,
    /// The task's version, which grows with every change and every claim.
    pub version: u64,
    /// Number of claims so far; the creator's is the first. Only the latest attempt may write.
    pub attempt: u64,
    /// Number of claims since the task was created or last waited for answers, not counting those that were given back.
    /// The creator's is the first. If it is greater than [`limits.tasks.max_attempts`](crate::Limits), the task fails.
    pub tries: u32,
    /// The task's state between two runs, as text that is opaque to stores.
    pub state: Arc<str>,
    /// Everything that another process needs in order to run the call, or an empty string. Stores may drop it when the
    /// task is final.
    pub call: Arc<str>,
    /// The outcome of a completed or failed task.
    pub outcome: Option<TaskOutcome>,
    /// Number of bytes that the process running the task keeps outside the store until the task is final.
    pub call_bytes: usize,
}

impl StoredTask {
    /// Creates the first version of a task, as stored at this time.
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
        }
    }

    /// Applies a change, as made at this time.
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
            self.call = "".into();
        }
        // If the clock is set back, the time of the last change must stay the same.
        self.updated_at = now.max(self.updated_at);
        self.version = self.version.saturating_add(1);
    }

    /// Begins a new attempt at the task.
    pub fn begin_attempt(&mut self) {
        self.attempt = self.attempt.saturating_add(1);
        self.tries = self.tries.saturating_add(1);
        self.version = self.version.saturating_add(1);
    }

    /// Returns the size of the texts and the call in bytes, for stores that limit it.
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
        /// A JSON object: the whole result that a plain call would have had.
        json: Arc<str>,
        /// `true` if the result reports that the tool failed.
        is_error: bool,
    },
    /// A protocol error.
    Error {
        /// A JSON object with `code`, `message` and perhaps `data`.
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
    /// Creates a change to this status that keeps the state and has no message.
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

/// One page of a caller's tasks, oldest first.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<StoredTask>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

impl TaskPage {
    /// Creates a page.
    #[must_use]
    pub const fn new(tasks: Vec<StoredTask>, next: Option<String>) -> Self {
        Self { tasks, next }
    }
}
