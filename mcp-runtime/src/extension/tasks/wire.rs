//! The forms of a task in both protocols.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::extension::tasks::state::TaskState;
use crate::extension::tasks::timestamp::timestamp;
use crate::stores::{StoredTask, TaskOutcome, TaskStatus};

/// Maximum number of characters of a failure's text to use as a task's message.
const MAX_MESSAGE: usize = 1000;

/// A task in the extension's form, without its outcome.
///
/// Source: extension `io.modelcontextprotocol/tasks`, "Task".
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task<'t> {
    #[serde(flatten)]
    common: CommonMembers<'t>,
    ttl_ms: u64,
    poll_interval_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Map<String, Value>>,
}

/// A task in the 2025-11-25 form.
///
/// Source: revision 2025-11-25, schema, "Task".
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LegacyTask<'t> {
    #[serde(flatten)]
    common: CommonMembers<'t>,
    ttl: u64,
    poll_interval: u64,
}

/// What both forms have in common.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommonMembers<'t> {
    task_id: &'t str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<Cow<'t, str>>,
    created_at: String,
    last_updated_at: String,
}

impl<'t> CommonMembers<'t> {
    fn new(task: &'t StoredTask) -> Self {
        Self {
            task_id: task.id.as_str(),
            status: task.status.as_str(),
            status_message: task.message.as_deref().map(Cow::from),
            created_at: timestamp(task.created_at),
            last_updated_at: timestamp(task.updated_at),
        }
    }
}

impl<'t> Task<'t> {
    /// Returns a task without its questions.
    pub(super) fn new(task: &'t StoredTask) -> Self {
        Self {
            common: CommonMembers::new(task),
            ttl_ms: milliseconds(task.ttl),
            poll_interval_ms: milliseconds(task.poll_interval),
            input_requests: None,
        }
    }

    /// Returns a task with its questions.
    pub(super) fn with_questions(task: &'t StoredTask) -> Self {
        let has_questions = task.status == TaskStatus::InputRequired;
        let questions = has_questions.then(|| {
            let open = TaskState::read(&task.state).unwrap_or_default().open;
            let requests = open.into_iter().map(|(key, question)| {
                let method = question.method.as_str();
                (key, json!({"method": method, "params": question.params}))
            });
            requests.collect()
        });
        Self {
            input_requests: questions,
            ..Self::new(task)
        }
    }
}

impl<'t> LegacyTask<'t> {
    /// Returns a task. In this version, a result that reports a tool failure makes the task fail.
    pub(super) fn new(task: &'t StoredTask) -> Self {
        let mut common = CommonMembers::new(task);
        if let Some(TaskOutcome::Result {
            json,
            is_error: true,
        }) = &task.outcome
        {
            common.status = TaskStatus::Failed.as_str();
            if let Some(message) = first_text(json) {
                common.status_message = Some(message.into());
            }
        }
        Self {
            common,
            ttl: milliseconds(task.ttl),
            poll_interval: milliseconds(task.poll_interval),
        }
    }
}

/// Returns a task in the extension's form, with its questions or its outcome. An outcome that is nested too deeply to
/// be parsed is omitted.
pub(super) fn detailed_task(stored: &StoredTask) -> Value {
    let mut task = serde_json::to_value(Task::with_questions(stored)).unwrap_or_default();
    if let Some((name, json)) = outcome(stored)
        && let Ok(outcome) = serde_json::from_str::<Value>(json)
    {
        task[name] = outcome;
    }
    task
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

/// Returns a time in milliseconds, which is at least one and at most the largest integer that every client can
/// represent.
fn milliseconds(time: std::time::Duration) -> u64 {
    const LARGEST: u64 = (1 << 53) - 1;
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(LARGEST);
    milliseconds.clamp(1, LARGEST)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::stores::NewTask;

    #[test]
    fn a_failed_tool_fails_its_legacy_task_with_its_text() {
        let mut task = StoredTask::created(&NewTask::new("", "dig"), SystemTime::UNIX_EPOCH);
        let id = task.id.as_str().to_owned();
        let legacy = |task: &StoredTask| serde_json::to_value(LegacyTask::new(task)).unwrap();
        let time = "1970-01-01T00:00:00.000Z";
        let mut expected = json!({
            "taskId": id, "status": "working", "createdAt": time, "lastUpdatedAt": time,
            "ttl": 3_600_000, "pollInterval": 1_000,
        });
        assert_eq!(legacy(&task), expected);
        task.status = TaskStatus::Completed;
        task.message = Some("digging".into());
        let failure = |json: &str| TaskOutcome::Result {
            json: json.into(),
            is_error: true,
        };
        (expected["status"], expected["statusMessage"]) = ("failed".into(), "digging".into());
        task.outcome = Some(failure(r#"{"content":[{"type":"image"}]}"#));
        assert_eq!(legacy(&task), expected);
        expected["statusMessage"] = "a stone".into();
        task.outcome = Some(failure(r#"{"content":[{"type":"text","text":"a stone"}]}"#));
        assert_eq!(legacy(&task), expected);
        let extension = serde_json::to_value(Task::new(&task)).unwrap();
        assert_eq!(extension["status"], "completed");
        assert_eq!(extension["statusMessage"], "digging");
        assert_eq!(extension["ttlMs"], 3_600_000);
    }
}
