//! Metrics for tasks, by tool. They cover only the tasks of this process, because each process reports its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::lock::lock;
use crate::observe::{Metric, is_metered};

static CREATED: Metric = Metric::counter("mcp.server.created_tasks", "Tasks that were created");
static ENDED: Metric = Metric::counter("mcp.server.tasks", "Tasks that have ended");
static ATTEMPTS: Metric =
    Metric::counter("mcp.server.task_attempts", "Task attempts that were begun");
static LAPSES: Metric = Metric::counter("mcp.server.task_lapses", "Task leases that have lapsed");
static QUEUED: Metric = Metric::gauge(
    "mcp.server.queued_tasks",
    "Tasks that are waiting for their turn",
);
static ACTIVE: Metric = Metric::gauge("mcp.server.active_tasks", "Tasks that are running");
static OLDEST: Metric = Metric::time(
    "mcp.server.oldest_task",
    "Time since 1970 at which the oldest queued or running task was created; 0 if there is none",
);
const TOOL: &str = "gen_ai.tool.name";

/// Describes each metric when a server starts.
pub(super) fn describe_task_metrics() {
    for metric in [
        &CREATED, &ENDED, &ATTEMPTS, &LAPSES, &QUEUED, &ACTIVE, &OLDEST,
    ] {
        metric.describe();
    }
}

/// Metrics for a server's tasks.
#[derive(Clone, Default)]
pub(super) struct TaskMetrics(Arc<Mutex<HashMap<Arc<str>, CreationTimes>>>);

/// The numbers of a tool's queued and running tasks by creation time.
type CreationTimes = BTreeMap<SystemTime, usize>;

impl TaskMetrics {
    pub(super) fn count_created(tool: &str) {
        CREATED.count(&[(TOOL, tool)]);
    }

    /// Counts a task that was claimed after its process had lost it.
    pub(super) fn count_lapsed(tool: &str) {
        LAPSES.count(&[(TOOL, tool)]);
    }

    pub(super) fn count_ended(tool: &str, outcome: &'static str) {
        ENDED.count(&[(TOOL, tool), ("outcome", outcome)]);
    }

    /// Starts recording an attempt at a task that is waiting for its turn.
    pub(super) fn enqueue(&self, tool: &Arc<str>, created_at: SystemTime) -> AttemptRecording {
        QUEUED.add(&[(TOOL, tool)], 1);
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
pub(super) struct AttemptRecording {
    metrics: TaskMetrics,
    tool: Arc<str>,
    created_at: SystemTime,
    is_running: bool,
}

impl AttemptRecording {
    /// Records that it is the attempt's turn.
    pub(super) fn begin(&mut self) {
        if std::mem::replace(&mut self.is_running, true) {
            return;
        }
        ATTEMPTS.count(&[(TOOL, &self.tool)]);
        QUEUED.add(&[(TOOL, &self.tool)], -1);
        ACTIVE.add(&[(TOOL, &self.tool)], 1);
    }

    /// Changes the number of tasks that were created at the same time as this one.
    fn change_number(&self, change: impl FnOnce(usize) -> usize) {
        if !is_metered() {
            return;
        }
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
        OLDEST.set(&[(TOOL, &self.tool)], oldest);
    }
}

impl Drop for AttemptRecording {
    fn drop(&mut self) {
        let what = if self.is_running { &ACTIVE } else { &QUEUED };
        what.add(&[(TOOL, &self.tool)], -1);
        self.change_number(|number| number.saturating_sub(1));
    }
}
