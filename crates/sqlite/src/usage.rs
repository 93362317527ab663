//! Compares the numbers and sizes of rows, as counted by triggers, with the limits.

use mcp_core::limits::TaskLimits;
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::row::{TaskRow, length};

/// Adds bytes to a task if there is room for them.
pub(crate) fn add_bytes(
    connection: &Connection,
    found: &TaskRow,
    more: i64,
    limits: &TaskLimits,
) -> Result<bool> {
    let has_room = has_room(connection, &found.task.owner, more, limits)?;
    if has_room {
        grow(connection, found, more)?;
    }
    Ok(has_room)
}

pub(crate) fn grow(connection: &Connection, found: &TaskRow, more: i64) -> Result<()> {
    let mut update =
        connection.prepare_cached("UPDATE tasks SET bytes = bytes + ?2 WHERE number = ?1")?;
    update.execute(params![found.number, more]).map(drop)
}

pub(crate) fn has_room(
    connection: &Connection,
    owner: &str,
    more: i64,
    limits: &TaskLimits,
) -> Result<bool> {
    if more <= 0 {
        return Ok(true);
    }
    let (_, used) = usage(connection, owner)?;
    let (_, all) = total(connection)?;
    Ok(
        used + more <= length(limits.max_bytes_per_caller)
            && all + more <= length(limits.max_bytes),
    )
}

/// Returns the number of a caller's tasks and their total size in bytes.
pub(crate) fn usage(connection: &Connection, owner: &str) -> Result<(i64, i64)> {
    used(connection, &format!("of {owner}"))
}

/// Returns the number of all tasks and their total size in bytes.
pub(crate) fn total(connection: &Connection) -> Result<(i64, i64)> {
    used(connection, "all")
}

/// Returns the number and total size in bytes of the rows that are counted in this scope.
pub(crate) fn used(connection: &Connection, scope: &str) -> Result<(i64, i64)> {
    let mut select =
        connection.prepare_cached("SELECT tasks, bytes FROM usage WHERE scope = ?1")?;
    let used = select.query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(used.optional()?.unwrap_or_default())
}
