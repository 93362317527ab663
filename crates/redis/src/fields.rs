//! Converts tasks to and from the fields of a Redis hash.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_stores::{NewTask, StoredTask, TaskId, TaskOutcome, TaskStatus};

use crate::error::RedisError;

const STATUSES: [TaskStatus; 5] = [
    TaskStatus::Working,
    TaskStatus::InputRequired,
    TaskStatus::Completed,
    TaskStatus::Failed,
    TaskStatus::Cancelled,
];
/// The maximum duration that is written: a hundred years, which scripts can represent exactly.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 100);

/// Reads a task from its fields and their values.
pub(crate) fn read(flat: Vec<String>) -> Result<StoredTask, RedisError> {
    let mut fields = HashMap::new();
    let mut flat = flat.into_iter();
    while let (Some(field), Some(value)) = (flat.next(), flat.next()) {
        fields.insert(field, value);
    }
    let mut fields = Fields(fields);
    let mut new = NewTask::new(fields.text("owner")?, fields.text("tool")?);
    new.id = TaskId::parse(&fields.text("id")?).ok_or_else(|| unknown("id"))?;
    new.ttl = fields.duration("ttl")?;
    new.poll_interval = fields.duration("poll")?;
    new.state = fields.text("state")?.into();
    new.call = fields.text("call")?.into();
    new.call_bytes = fields.number("held")?;
    let mut task = StoredTask::created(&new, fields.time("created")?);
    task.updated_at = fields.time("updated")?;
    let status = fields.text("status")?;
    let known = STATUSES.into_iter().find(|known| known.as_str() == status);
    task.status = known.ok_or_else(|| unknown("status"))?;
    task.message = fields.0.remove("message").map(Into::into);
    task.version = fields.number("version")?;
    task.attempt = fields.number("attempt")?;
    task.tries = fields.number("tries")?;
    if let Some(kind) = fields.0.remove("kind") {
        let json = fields.text("outcome")?.into();
        task.outcome = Some(match &*kind {
            "error" => TaskOutcome::Error { json },
            "result" | "failure" => TaskOutcome::Result {
                json,
                is_error: kind == "failure",
            },
            _ => return Err(unknown("kind")),
        });
    }
    Ok(task)
}

/// Returns the fields of a new task, without the times that Redis adds using its own clock.
pub(crate) fn of_new(task: &NewTask) -> Vec<(&'static str, String)> {
    vec![
        ("id", task.id.to_string()),
        ("owner", task.owner.to_string()),
        ("tool", task.tool.to_string()),
        ("status", TaskStatus::Working.as_str().to_owned()),
        ("ttl", milliseconds(task.ttl).to_string()),
        ("poll", milliseconds(task.poll_interval).to_string()),
        ("version", "1".to_owned()),
        ("attempt", "1".to_owned()),
        ("tries", "1".to_owned()),
        ("state", task.state.to_string()),
        ("call", task.call.to_string()),
        ("held", task.call_bytes.to_string()),
        ("steps", "0".to_owned()),
    ]
}

/// Returns the task fields that can change and have a value.
pub(crate) fn of_changed(task: &StoredTask) -> Vec<(&'static str, String)> {
    let updated = task.updated_at.duration_since(UNIX_EPOCH);
    let updated = milliseconds(updated.unwrap_or_default()).to_string();
    let mut fields = vec![
        ("updated", updated),
        ("version", task.version.to_string()),
        ("state", task.state.to_string()),
        ("call", task.call.to_string()),
        ("held", task.call_bytes.to_string()),
    ];
    if task.status == TaskStatus::InputRequired {
        fields.push(("tries", task.tries.to_string()));
    }
    if let Some(message) = &task.message {
        fields.push(("message", message.to_string()));
    }
    let outcome = match &task.outcome {
        Some(TaskOutcome::Result {
            json,
            is_error: false,
        }) => Some(("result", json)),
        Some(TaskOutcome::Result { json, .. }) => Some(("failure", json)),
        Some(TaskOutcome::Error { json }) => Some(("error", json)),
        _ => None,
    };
    if let Some((kind, json)) = outcome {
        fields.push(("kind", kind.to_owned()));
        fields.push(("outcome", json.to_string()));
    }
    fields
}

/// Returns the time that is this many milliseconds after the start of 1970.
pub(crate) fn time(milliseconds: &str) -> Option<SystemTime> {
    let since = Duration::from_millis(milliseconds.parse().ok()?);
    UNIX_EPOCH.checked_add(since)
}

/// Returns a duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.min(LONGEST).as_millis()).unwrap_or(u64::MAX)
}

struct Fields(HashMap<String, String>);

impl Fields {
    fn text(&mut self, name: &str) -> Result<String, RedisError> {
        self.0.remove(name).ok_or_else(|| unknown(name))
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, RedisError> {
        self.text(name)?.parse().map_err(|_| unknown(name))
    }

    fn duration(&mut self, name: &str) -> Result<Duration, RedisError> {
        self.number(name).map(Duration::from_millis)
    }

    fn time(&mut self, name: &str) -> Result<SystemTime, RedisError> {
        time(&self.text(name)?).ok_or_else(|| unknown(name))
    }
}

fn unknown(field: &str) -> RedisError {
    let text =
        format!("the field `{field}` of a task has a value that this build does not recognize");
    RedisError::text(text)
}
