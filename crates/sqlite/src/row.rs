//! Rows of the `tasks` table.

use std::time::{Duration, UNIX_EPOCH};

use mcp_stores::{NewTask, StoredTask, TaskId, TaskOutcome, TaskStatus};
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "number, bytes, id, owner, tool, status, message, created_at, updated_at, ttl, \
     poll_interval, version, attempt, tries, state, call, outcome_kind, outcome, due, expires_at";

/// A task with the data that only the store uses.
pub(crate) struct TaskRow {
    pub(crate) number: i64,
    pub(crate) bytes: i64,
    pub(crate) due: Option<i64>,
    pub(crate) task: StoredTask,
}

pub(crate) fn read(row: &Row<'_>) -> Result<TaskRow> {
    let id: String = row.get("id")?;
    let mut new = NewTask::new(
        row.get::<_, String>("owner")?,
        row.get::<_, String>("tool")?,
    );
    new.id = TaskId::parse(&id).ok_or_else(|| invalid("id"))?;
    new.ttl = duration(row, "ttl")?;
    new.poll_interval = duration(row, "poll_interval")?;
    new.state = row.get::<_, String>("state")?.into();
    new.call = row.get::<_, String>("call")?.into();
    let created = UNIX_EPOCH + duration(row, "created_at")?;
    let mut task = StoredTask::created(&new, created);
    task.updated_at = UNIX_EPOCH + duration(row, "updated_at")?;
    let status: String = row.get("status")?;
    task.status = all_statuses()
        .into_iter()
        .find(|known| known.as_str() == status)
        .ok_or_else(|| invalid("status"))?;
    task.message = row.get::<_, Option<String>>("message")?.map(Into::into);
    task.version = number(row, "version")?;
    task.attempt = number(row, "attempt")?;
    task.tries = row.get("tries")?;
    let kind: Option<String> = row.get("outcome_kind")?;
    if let Some(kind) = kind {
        let json = row.get::<_, String>("outcome")?.into();
        task.outcome = Some(match kind.as_str() {
            "error" => TaskOutcome::Error { json },
            kind => TaskOutcome::Result {
                json,
                is_error: kind == "failure",
            },
        });
    }
    Ok(TaskRow {
        number: row.get("number")?,
        bytes: row.get("bytes")?,
        due: row.get("due")?,
        task,
    })
}

/// Returns the columns `outcome_kind` and `outcome`.
pub(crate) fn outcome(task: &StoredTask) -> (Option<&'static str>, Option<&str>) {
    match &task.outcome {
        Some(TaskOutcome::Result {
            json,
            is_error: false,
        }) => (Some("result"), Some(&**json)),
        Some(TaskOutcome::Result { json, .. }) => (Some("failure"), Some(&**json)),
        Some(TaskOutcome::Error { json }) => (Some("error"), Some(&**json)),
        _ => (None, None),
    }
}

const fn all_statuses() -> [TaskStatus; 5] {
    [
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ]
}

fn duration(row: &Row<'_>, column: &str) -> Result<Duration> {
    number(row, column).map(Duration::from_millis)
}

fn number(row: &Row<'_>, column: &str) -> Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| invalid(column))
}

fn invalid(column: &str) -> Error {
    let text = format!("the column `{column}` has a value that this build does not recognize");
    Error::FromSqlConversionFailure(0, Type::Text, text.into())
}

/// Returns a number of bytes or rows as a column.
pub(crate) fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Returns a number as a column.
pub(crate) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
