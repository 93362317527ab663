//! The operations that operators perform on the tables.

use std::time::{Duration, SystemTime};

use mcp_stores::{TaskChanged, TaskDetails, TaskId, TaskPage, TaskStep};
use rusqlite::{Connection, Result, params};

use crate::row::{self, length};
use crate::statements::{find, store_changed};
use crate::writer::now;

/// Returns a page of all tasks after the row with this number.
pub(crate) fn list_all(connection: &Connection, after: i64, max: usize) -> Result<TaskPage> {
    let max = max.max(1);
    let sql = format!(
        "SELECT {} FROM tasks WHERE number > ?1 AND expires_at > ?2 ORDER BY number LIMIT ?3",
        row::COLUMNS
    );
    let mut select = connection.prepare_cached(&sql)?;
    let one_more = length(max).saturating_add(1);
    let rows = select.query_map(params![after, now(), one_more], row::read)?;
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    let has_more = rows.len() > max;
    rows.truncate(max);
    let next = rows.last().filter(|_| has_more);
    let next = next.map(|row| row.number.to_string());
    let tasks = rows.into_iter().map(|row| row.task).collect();
    Ok(TaskPage::new(tasks, next))
}

pub(crate) fn inspect(connection: &Connection, id: &TaskId) -> Result<Option<TaskDetails>> {
    let Some(found) = find(connection, id)? else {
        return Ok(None);
    };
    let mut select =
        connection.prepare_cached("SELECT name, result IS NOT NULL FROM steps WHERE task = ?1")?;
    let steps = select.query_map([found.number], |row| {
        Ok(TaskStep::new(row.get::<_, String>(0)?, row.get(1)?))
    })?;
    let steps = steps.collect::<Result<Vec<_>>>()?;
    let due_in = found.due.map(|due| {
        let left = u64::try_from(due.saturating_sub(now())).unwrap_or_default();
        Duration::from_millis(left)
    });
    Ok(Some(TaskDetails::new(found.task, due_in, steps)))
}

pub(crate) fn retry(
    connection: &Connection,
    (id, version): (&TaskId, u64),
    not_done: Option<&str>,
) -> Result<TaskChanged> {
    let Some(found) = find(connection, id)? else {
        return Ok(TaskChanged::Unchanged);
    };
    if found.task.version != version || !found.task.can_be_retried() {
        return Ok(TaskChanged::Unchanged);
    }
    let mut bytes = found.bytes - length(found.task.size());
    if let Some(name) = not_done {
        let mut forget = connection
            .prepare_cached("DELETE FROM steps WHERE task = ?1 AND name = ?2 AND result IS NULL")?;
        if forget.execute(params![found.number, name])? > 0 {
            bytes -= length(name.len());
        }
    }
    let mut task = found.task;
    task.retry(SystemTime::now());
    bytes += length(task.size());
    store_changed(connection, found.number, &task, Some(now()), bytes)?;
    Ok(TaskChanged::Changed(task))
}

pub(crate) fn delete_all(connection: &Connection, owner: &str) -> Result<usize> {
    connection
        .prepare_cached("DELETE FROM tasks WHERE owner = ?1")?
        .execute([owner])
}
