//! The forms of a task in both protocols.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_core::extension::{BackgroundQuestion, QuestionAnswer};
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_stores::{StoredTask, TaskOutcome, TaskStatus, timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

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

// --- A task's state between runs, as text in its store.

/// A task's state between two runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TaskState {
    /// The call's journal.
    pub(super) journal: String,
    /// `true` if the task began with its call's first request. No request can then do the call's work again, because
    /// no client has received a state to resend.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_first: bool,
    /// The unanswered questions, keyed by their wire keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) open: BTreeMap<String, TaskQuestion>,
    /// The answers received since the last run, keyed by their journal keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, StoredAnswer>,
    /// All keys that have been used on the wire; keys are not reused during a task's lifetime.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    used: BTreeSet<String>,
}

/// An unanswered question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TaskQuestion {
    /// The key in the journal.
    key: String,
    pub(super) method: AskedMethod,
    pub(super) params: Value,
}

/// A question's method.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum AskedMethod {
    #[serde(rename = "elicitation/create")]
    Elicit,
    #[serde(rename = "sampling/createMessage")]
    Sample,
    #[serde(rename = "roots/list")]
    Roots,
}

impl AskedMethod {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "sampling/createMessage" => Self::Sample,
            "roots/list" => Self::Roots,
            _ => Self::Elicit,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum StoredAnswer {
    #[serde(rename = "r")]
    Result(Box<RawValue>),
    #[serde(rename = "e")]
    Error(i32, String),
}

impl TaskState {
    /// Creates the state for a new task, which the call became in its first request or in a later round.
    pub(super) fn new(journal: &str, is_first: bool) -> Self {
        Self {
            journal: journal.to_owned(),
            is_first,
            ..Self::default()
        }
    }

    /// Reads a state written by [`to_text`](Self::to_text). Returns `None` for any other text.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_text(&self) -> Arc<str> {
        // Serialization cannot fail for strings, numbers and JSON that has already been parsed.
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// Replaces the questions with those from the latest run, each under its own key.
    pub(super) fn ask(&mut self, journal: String, questions: Vec<BackgroundQuestion>) {
        self.journal = journal;
        self.answers.clear();
        self.open.clear();
        for question in questions {
            let key = self.unused_key(&question.key);
            self.used.insert(key.clone());
            let open = TaskQuestion {
                key: question.key,
                method: AskedMethod::named(question.method),
                params: question.params,
            };
            self.open.insert(key, open);
        }
    }

    fn unused_key(&self, wanted: &str) -> String {
        let mut key = wanted.to_owned();
        let mut number = 1_usize;
        while self.used.contains(&key) {
            number = number.saturating_add(1);
            key = format!("{wanted}-{number}");
        }
        key
    }

    /// Adds the answer to a question. Returns `false` if no question with this key is open.
    pub(super) fn answer(&mut self, key: &str, answer: QuestionAnswer) -> bool {
        let Some(question) = self.open.remove(key) else {
            return false;
        };
        let answer = match answer {
            Ok(result) => StoredAnswer::Result(result),
            Err(error) => StoredAnswer::Error(error.code, error.message),
        };
        self.answers.insert(question.key, answer);
        true
    }

    /// Takes the answers received since the last run.
    pub(super) fn take_answers(
        &mut self,
    ) -> impl Iterator<Item = (String, QuestionAnswer)> + use<> {
        let answers = std::mem::take(&mut self.answers).into_iter();
        answers.map(|(key, answer)| {
            let answer = match answer {
                StoredAnswer::Result(result) => Ok(result),
                StoredAnswer::Error(code, message) => Err(ErrorObject::new(code, message)),
            };
            (key, answer)
        })
    }
}

/// The extension's identifier.
pub const ID: &str = "io.modelcontextprotocol/tasks";

/// The `_meta` key for the task to which a message belongs. Used only in 2025-11-25.
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The notification about a change, for clients that use 2026-07-28.
pub(super) const CHANGED: &str = "notifications/tasks";

/// The notification about a change, for clients that use 2025-11-25.
pub(super) const CHANGED_LEGACY: &str = "notifications/tasks/status";

/// The tool that clients without task support use to wait for a task.
pub(super) const JOB_STATUS: &str = "job_status";

/// The tool that such clients use to cancel a task.
pub(super) const JOB_CANCEL: &str = "job_cancel";

#[cfg(test)]
mod tests {
    mod wire {
        use std::time::SystemTime;

        use mcp_stores::NewTask;

        use crate::wire::*;

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

    mod state {
        use crate::wire::*;

        fn question(key: &str) -> BackgroundQuestion {
            BackgroundQuestion::new(key.into(), "elicitation/create", Value::Null)
        }

        // Covers: XTASK-06
        #[test]
        fn the_keys_of_input_requests_are_unique_within_a_task() {
            let mut state = TaskState::new("{}", true);
            let mut seen = Vec::new();
            for _ in 0..3 {
                state.ask("{}".into(), vec![question("a"), question("a-2")]);
                seen.extend(state.open.keys().cloned());
                state = TaskState::read(&state.to_text()).unwrap();
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 6, "{seen:?}");
        }

        #[test]
        fn an_answer_is_kept_under_the_key_of_the_journal() {
            let mut state = TaskState::new("{}", true);
            state.ask("1".into(), vec![question("a")]);
            state.ask("2".into(), vec![question("a"), question("b")]);
            assert!(!state.answer("a", Ok(RawValue::NULL.to_owned())));
            assert!(state.answer("a-2", Ok(RawValue::NULL.to_owned())));
            assert!(state.answer("b", Err(ErrorObject::new(-1, "no"))));
            let mut state = TaskState::read(&state.to_text()).unwrap();
            assert_eq!((&*state.journal, state.open.len()), ("2", 0));
            let answers: Vec<_> = state.take_answers().collect();
            assert!(matches!(&answers[..], [(a, Ok(_)), (b, Err(_))] if a == "a" && b == "b"));
        }
    }
}
