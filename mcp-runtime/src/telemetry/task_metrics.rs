//! Metrics for tasks, by tool. They cover only the tasks of this process, because each process reports its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use ::metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::lock::lock;

const CREATED: &str = "mcp.server.created_tasks";
const TASKS: &str = "mcp.server.tasks";
const ATTEMPTS: &str = "mcp.server.task_attempts";
const LAPSES: &str = "mcp.server.task_lapses";
const QUEUED: &str = "mcp.server.queued_tasks";
const ACTIVE: &str = "mcp.server.active_tasks";
const OLDEST: &str = "mcp.server.oldest_task";
const TOOL: &str = "gen_ai.tool.name";

/// Describes each metric to the recorder when a server starts.
pub(super) fn describe_task_metrics() {
    describe_counter!(CREATED, Unit::Count, "Tasks that were created");
    describe_counter!(TASKS, Unit::Count, "Tasks that have ended");
    describe_counter!(ATTEMPTS, Unit::Count, "Task attempts that were begun");
    describe_counter!(LAPSES, Unit::Count, "Task leases that have lapsed");
    describe_gauge!(QUEUED, Unit::Count, "Tasks that are waiting for their turn");
    describe_gauge!(ACTIVE, Unit::Count, "Tasks that are running");
    describe_gauge!(
        OLDEST,
        Unit::Seconds,
        "Time since 1970 at which the oldest queued or running task was created; 0 if there is none"
    );
}

/// Metrics for a server's tasks.
#[derive(Clone, Default)]
pub(crate) struct TaskMetrics(Arc<Mutex<HashMap<Arc<str>, CreationTimes>>>);

/// The numbers of a tool's queued and running tasks by creation time.
type CreationTimes = BTreeMap<SystemTime, usize>;

impl TaskMetrics {
    pub(crate) fn count_created(tool: &str) {
        counter!(CREATED, TOOL => tool.to_owned()).increment(1);
    }

    /// Counts a task that was claimed after its process had lost it.
    pub(crate) fn count_lapsed(tool: &str) {
        counter!(LAPSES, TOOL => tool.to_owned()).increment(1);
    }

    pub(crate) fn count_ended(tool: &str, outcome: &'static str) {
        counter!(TASKS, TOOL => tool.to_owned(), "outcome" => outcome).increment(1);
    }

    /// Starts recording an attempt at a task that is waiting for its turn.
    pub(crate) fn enqueue(&self, tool: &Arc<str>, created_at: SystemTime) -> AttemptRecording {
        gauge!(QUEUED, TOOL => tool.to_string()).increment(1.0);
        let recording = AttemptRecording {
            metrics: self.clone(),
            tool: Arc::clone(tool),
            created_at,
            is_running: false,
        };
        recording.change_number(|number| number.saturating_add(1));
        recording
    }
}

/// An attempt in progress, queued or running until it is dropped.
pub(crate) struct AttemptRecording {
    metrics: TaskMetrics,
    tool: Arc<str>,
    created_at: SystemTime,
    is_running: bool,
}

impl AttemptRecording {
    /// Records that it is the attempt's turn.
    pub(crate) fn begin(&mut self) {
        if std::mem::replace(&mut self.is_running, true) {
            return;
        }
        counter!(ATTEMPTS, TOOL => self.tool.to_string()).increment(1);
        gauge!(QUEUED, TOOL => self.tool.to_string()).decrement(1.0);
        gauge!(ACTIVE, TOOL => self.tool.to_string()).increment(1.0);
    }

    /// Changes the number of tasks that were created at the same time as this one.
    fn change_number(&self, change: impl FnOnce(usize) -> usize) {
        let mut tools = lock(&self.metrics.0);
        let times = tools.entry(Arc::clone(&self.tool)).or_default();
        let before = times.remove(&self.created_at).unwrap_or_default();
        let number = change(before);
        if number > 0 {
            times.insert(self.created_at, number);
        }
        let oldest = times.first_key_value();
        let oldest = oldest.and_then(|(time, _)| time.duration_since(UNIX_EPOCH).ok());
        let oldest = oldest.unwrap_or_default().as_secs_f64();
        gauge!(OLDEST, TOOL => self.tool.to_string()).set(oldest);
    }
}

impl Drop for AttemptRecording {
    fn drop(&mut self) {
        let what = if self.is_running { ACTIVE } else { QUEUED };
        gauge!(what, TOOL => self.tool.to_string()).decrement(1.0);
        self.change_number(|number| number.saturating_sub(1));
    }
}
