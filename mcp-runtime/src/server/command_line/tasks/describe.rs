//! A task as operators see it: without arguments, answers and results, which can contain secrets.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::extension::tasks::timestamp;
use crate::stores::{StoredTask, TaskOutcome, TaskStatus};

/// Returns the time since a task was created.
pub(super) fn age(task: &StoredTask, now: SystemTime) -> Duration {
    now.duration_since(task.created_at).unwrap_or_default()
}

/// Returns the time until a task expires.
pub(super) fn left(task: &StoredTask, now: SystemTime) -> Duration {
    task.ttl.saturating_sub(age(task, now))
}

/// Returns a task's status. A task whose tool reported a failure counts as failed, as it does for 2025-11-25 clients.
pub(super) fn status(task: &StoredTask) -> &'static str {
    if task.has_failed() {
        TaskStatus::Failed.as_str()
    } else {
        task.status.as_str()
    }
}

/// Describes a task for programs.
pub(super) fn object(task: &StoredTask) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("taskId", task.id.as_str().into());
    add("tool", (*task.tool).into());
    add("status", status(task).into());
    if let Some(message) = &task.message {
        add("statusMessage", (**message).into());
    }
    add("owner", (*task.owner).into());
    add("createdAt", timestamp(task.created_at).into());
    add("lastUpdatedAt", timestamp(task.updated_at).into());
    let expires = task.created_at.checked_add(task.ttl);
    add("expiresAt", expires.map(timestamp).into());
    add("attempts", task.attempt.into());
    add("tries", task.tries.into());
    if let Some(outcome) = &task.outcome {
        add("outcome", json!(outcome_name(outcome)));
    }
    add("canBeRetried", task.can_be_retried().into());
    members
}

/// Returns the kind of a task's outcome.
pub(super) const fn outcome_name(outcome: &TaskOutcome) -> &'static str {
    match outcome {
        TaskOutcome::Result {
            is_error: false, ..
        } => "result",
        TaskOutcome::Result { .. } => "failure of the tool",
        TaskOutcome::Error { .. } => "protocol error",
    }
}
