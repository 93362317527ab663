//! The forms of a task in both protocols.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::extension::tasks::state::TaskState;
use crate::extension::tasks::timestamp::timestamp;
use crate::stores::{StoredTask, TaskOutcome, TaskStatus};

/// Maximum number of characters of a failure's text to use as a task's message.
const MAX_MESSAGE: usize = 1000;

/// Returns a task in the extension's form, without its questions or its outcome.
pub(super) fn task(task: &StoredTask) -> Map<String, Value> {
    let mut members = common(task, task.status);
    members.insert("ttlMs".into(), milliseconds(task.ttl));
    members.insert("pollIntervalMs".into(), milliseconds(task.poll_interval));
    members
}

/// Returns a task in the extension's form, with its questions or its outcome. An outcome that is nested too deeply to
/// be parsed is omitted.
pub(super) fn detailed_task(stored: &StoredTask) -> Map<String, Value> {
    let mut members = task_and_questions(stored);
    if let Some((name, json)) = outcome(stored)
        && let Ok(outcome) = serde_json::from_str(json)
    {
        members.insert(name.into(), outcome);
    }
    members
}

/// Returns the name of the member for a task's outcome, and the JSON of the underlying result, unchanged.
pub(super) fn outcome(stored: &StoredTask) -> Option<(&'static str, &str)> {
    if stored.is_sealed {
        return None;
    }
    match stored.outcome.as_ref()? {
        TaskOutcome::Result { json, .. } => Some(("result", json)),
        TaskOutcome::Error { json } => Some(("error", json)),
    }
}

/// Returns a task in the extension's form, with its questions.
pub(super) fn task_and_questions(stored: &StoredTask) -> Map<String, Value> {
    let mut members = task(stored);
    if stored.status == TaskStatus::InputRequired {
        let open = TaskState::read(&stored.state).unwrap_or_default().open;
        let requests: Map<String, Value> = open
            .into_iter()
            .map(|(key, question)| {
                let method = question.method.as_str();
                (key, json!({"method": method, "params": question.params}))
            })
            .collect();
        members.insert("inputRequests".into(), Value::Object(requests));
    }
    members
}

/// Returns a task in the 2025-11-25 form. In that version, a result that reports a tool failure makes the task fail.
pub(super) fn legacy_task(task: &StoredTask) -> Map<String, Value> {
    let failure = match &task.outcome {
        Some(TaskOutcome::Result {
            json,
            is_error: true,
        }) => Some(json),
        _ => None,
    };
    let status = failure.map_or(task.status, |_| TaskStatus::Failed);
    let mut members = common(task, status);
    if let Some(message) = failure.and_then(|json| first_text(json)) {
        members.insert("statusMessage".into(), message.into());
    }
    members.insert("ttl".into(), milliseconds(task.ttl));
    members.insert("pollInterval".into(), milliseconds(task.poll_interval));
    members
}

/// Returns the beginning of the first string in a result, which says why the tool failed.
fn first_text(result: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
    }
    let failure: Failure = serde_json::from_str(result).ok()?;
    let text = failure.content.into_iter().find_map(|block| block.text)?;
    Some(text.chars().take(MAX_MESSAGE).collect())
}

fn common(task: &StoredTask, status: TaskStatus) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("taskId".into(), task.id.as_str().into());
    members.insert("status".into(), status.as_str().into());
    if let Some(message) = &task.message {
        members.insert("statusMessage".into(), (**message).into());
    }
    members.insert("createdAt".into(), timestamp(task.created_at).into());
    members.insert("lastUpdatedAt".into(), timestamp(task.updated_at).into());
    members
}

/// Returns a time in milliseconds, which is at least one and at most the largest integer that every client can
/// represent.
fn milliseconds(time: std::time::Duration) -> Value {
    const LARGEST: u64 = (1 << 53) - 1;
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(LARGEST);
    milliseconds.clamp(1, LARGEST).into()
}
