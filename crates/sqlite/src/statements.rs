//! The operations on the tables, each of which runs inside one of the writer's transactions.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_core::context::{ClaimId, OnceClaim};
use mcp_core::limits::TaskLimits;
use mcp_stores::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskId,
    TaskPage, TaskStatus,
};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::row::{self, TaskRow, length, whole};
use crate::usage::{add_bytes, grow, has_room, total, usage};
use crate::writer::{milliseconds, now};

/// Maximum number of rows removed in a sweep, so that other operations do not have to wait long.
const MAX_SWEPT: i64 = 500;
/// Removes some of the expired rows.
pub(crate) fn sweep(connection: &Connection, now: i64) -> Result<()> {
    for (table, key) in [
        ("tasks", "number"),
        ("sessions", "id"),
        ("streams", "number"),
        ("results", "id"),
    ] {
        let expired = format!("SELECT {key} FROM {table} WHERE expires_at <= ?1 LIMIT ?2");
        let sql = format!("DELETE FROM {table} WHERE {key} IN ({expired})");
        let mut delete = connection.prepare_cached(&sql)?;
        delete.execute(params![now, MAX_SWEPT])?;
    }
    let mut once = connection.prepare_cached(
        "DELETE FROM once WHERE (call, name) IN (SELECT call, name FROM once WHERE expires_at <= ?1 LIMIT ?2)",
    )?;
    once.execute(params![now, MAX_SWEPT])?;
    Ok(())
}

/// Creates a task, or returns it as it was created. Returns `Ok(None)` if its id is in use for another task.
pub(crate) fn create(
    connection: &Connection,
    task: &NewTask,
    limits: &TaskLimits,
) -> Result<Option<TaskCreation>> {
    let as_created = |at: i64| {
        let since = Duration::from_millis(u64::try_from(at).unwrap_or_default());
        StoredTask::created(task, UNIX_EPOCH + since)
    };
    let id = task.id.as_str();
    let mut known =
        connection.prepare_cached("SELECT created_at, owner = ?2 FROM tasks WHERE id = ?1")?;
    let known = known.query_row(params![id, &*task.owner], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
    });
    if let Some((at, is_same)) = known.optional()? {
        return Ok(is_same.then(|| TaskCreation::Created(as_created(at))));
    }
    let created_at = now();
    let stored = as_created(created_at);
    let bytes = length(stored.size());
    let (tasks, used) = usage(connection, &task.owner)?;
    if tasks >= length(limits.max_per_caller) || used + bytes > length(limits.max_bytes_per_caller)
    {
        return Ok(Some(TaskCreation::CallerFull));
    }
    let (tasks, used) = total(connection)?;
    if tasks >= length(limits.max_tasks) || used + bytes > length(limits.max_bytes) {
        return Ok(Some(TaskCreation::Full));
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO tasks (id, owner, tool, status, created_at, updated_at, expires_at, ttl, poll_interval, version, \
         attempt, tries, state, call, due, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, 1, 1, 1, ?9, ?10, ?11, ?12)",
    )?;
    insert.execute(params![
        id,
        &*task.owner,
        &*task.tool,
        TaskStatus::Working.as_str(),
        created_at,
        created_at + milliseconds(task.ttl),
        milliseconds(task.ttl),
        milliseconds(task.poll_interval),
        &*task.state,
        &*task.call,
        created_at + milliseconds(task.lease),
        bytes,
    ])?;
    Ok(Some(TaskCreation::Created(stored)))
}

/// Removes a task whose creator does not know of it.
pub(crate) fn withdraw(connection: &Connection, id: &TaskId) -> Result<usize> {
    let mut delete = connection.prepare_cached("DELETE FROM tasks WHERE id = ?1")?;
    delete.execute([id.as_str()])
}

pub(crate) fn find(connection: &Connection, id: &TaskId) -> Result<Option<TaskRow>> {
    let sql = format!(
        "SELECT {} FROM tasks WHERE id = ?1 AND expires_at > ?2",
        row::COLUMNS
    );
    let mut select = connection.prepare_cached(&sql)?;
    select
        .query_row(params![id.as_str(), now()], row::read)
        .optional()
}

/// Returns the version of a task and the time until it expires.
pub(crate) fn version(connection: &Connection, id: &TaskId) -> Result<Option<(i64, i64)>> {
    let now = now();
    let mut select = connection.prepare_cached(
        "SELECT version, expires_at - ?2 FROM tasks WHERE id = ?1 AND expires_at > ?2",
    )?;
    let found = select.query_row(params![id.as_str(), now], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    found.optional()
}

/// Returns a page of a caller's tasks, or `Ok(None)` if the cursor is invalid.
pub(crate) fn list(
    connection: &Connection,
    owner: &str,
    cursor: Option<&TaskId>,
    max: usize,
) -> Result<Option<TaskPage>> {
    // A cursor is the id of the last task on the page, which belongs to the caller, so it does not reveal anything
    // about other callers.
    let after = match cursor {
        None => 0,
        Some(id) => match find(connection, id)? {
            Some(last) if *last.task.owner == *owner => last.number,
            _ => return Ok(None),
        },
    };
    let max = max.max(1);
    let sql = format!(
        "SELECT {} FROM tasks WHERE owner = ?1 AND number > ?2 AND expires_at > ?3 ORDER BY number LIMIT ?4",
        row::COLUMNS
    );
    let mut select = connection.prepare_cached(&sql)?;
    let one_more = length(max).saturating_add(1);
    let rows = select.query_map(params![owner, after, now(), one_more], row::read)?;
    let mut tasks = Vec::new();
    for row in rows {
        tasks.push(row?.task);
    }
    let has_more = tasks.len() > max;
    tasks.truncate(max);
    let last = tasks.last().filter(|_| has_more);
    let next = last.map(|task| task.id.to_string());
    Ok(Some(TaskPage::new(tasks, next)))
}

pub(crate) fn change(
    connection: &Connection,
    (id, version): (&TaskId, u64),
    change: TaskChange,
    limits: &TaskLimits,
) -> Result<TaskChanged> {
    let Some(found) = find(connection, id)? else {
        return Ok(TaskChanged::Unchanged);
    };
    if found.task.version != version || found.task.status.is_final() {
        return Ok(TaskChanged::Unchanged);
    }
    let mut task = found.task.clone();
    task.apply(change, SystemTime::now());
    let steps = found.bytes - length(found.task.size());
    let forgets = task.status.is_final() && !task.can_be_retried();
    let bytes = length(task.size()) + if forgets { 0 } else { steps };
    if !has_room(connection, &task.owner, bytes - found.bytes, limits)? {
        return Ok(TaskChanged::Full);
    }
    let due = match task.status {
        TaskStatus::Working => found.due.or(Some(now())),
        _ => None,
    };
    if forgets {
        let mut forget = connection.prepare_cached("DELETE FROM steps WHERE task = ?1")?;
        forget.execute([found.number])?;
    }
    store_changed(connection, found.number, &task, due, bytes)?;
    Ok(TaskChanged::Changed(task))
}

/// Writes everything that can change in a task.
pub(crate) fn store_changed(
    connection: &Connection,
    number: i64,
    task: &StoredTask,
    due: Option<i64>,
    bytes: i64,
) -> Result<()> {
    let updated = task
        .updated_at
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (kind, outcome) = row::outcome(task);
    let mut update = connection.prepare_cached(
        "UPDATE tasks SET status = ?2, message = ?3, updated_at = ?4, version = ?5, tries = ?6, state = ?7, call = ?8, \
         outcome_kind = ?9, outcome = ?10, due = ?11, bytes = ?12 WHERE number = ?1",
    )?;
    let written = update.execute(params![
        number,
        task.status.as_str(),
        task.message.as_deref(),
        milliseconds(updated),
        whole(task.version),
        task.tries,
        &*task.state,
        &*task.call,
        kind,
        outcome,
        due,
        bytes,
    ]);
    written.map(drop)
}

pub(crate) fn claim(
    connection: &Connection,
    id: &TaskId,
    lease: Duration,
) -> Result<Option<StoredTask>> {
    let now = now();
    match find(connection, id)? {
        Some(found) if found.due.is_some_and(|due| due <= now) => {
            begin_attempt(connection, found, now + milliseconds(lease)).map(Some)
        }
        _ => Ok(None),
    }
}

/// Claims the due task whose turn it is. The turn passes to the first caller after `last` in the order of their keys.
pub(crate) fn claim_due(
    connection: &Connection,
    lease: Duration,
    last: &str,
    except: &ClaimExceptions,
) -> Result<TaskClaim> {
    let now = now();
    let tasks = listed(except.tasks.iter().map(TaskId::as_str));
    let tools = listed(except.tools.iter().map(|tool| &**tool));
    for turn in ["owner > ?2", "owner <= ?2"] {
        let sql = format!(
            "SELECT {} FROM tasks INDEXED BY tasks_by_turn WHERE due <= ?1 AND {turn} AND expires_at > ?1 \
             AND instr(?3, ',' || id || ',') = 0 AND instr(?4, ',' || tool || ',') = 0 ORDER BY owner, due LIMIT 1",
            row::COLUMNS
        );
        let mut select = connection.prepare_cached(&sql)?;
        let next = select.query_row(params![now, last, tasks, tools], row::read);
        if let Some(next) = next.optional()? {
            let claimed = begin_attempt(connection, next, now + milliseconds(lease))?;
            return Ok(TaskClaim::Claimed(claimed));
        }
    }
    let mut select = connection.prepare_cached(
        "SELECT due - ?1 FROM tasks WHERE due > ?1 AND expires_at > ?1 ORDER BY due LIMIT 1",
    )?;
    let wait = select.query_row([now], |row| row.get::<_, i64>(0));
    let wait = wait.optional()?;
    let wait = wait.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or_default()));
    Ok(TaskClaim::Wait(wait))
}

/// Returns names, none of which contains a comma, with a comma before and after each.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.fold(",".to_owned(), |list, name| list + name + ",")
}

fn begin_attempt(connection: &Connection, found: TaskRow, due: i64) -> Result<StoredTask> {
    let TaskRow {
        number, mut task, ..
    } = found;
    task.begin_attempt();
    let mut update = connection.prepare_cached(
        "UPDATE tasks SET attempt = ?2, tries = ?3, version = ?4, due = ?5 WHERE number = ?1",
    )?;
    let (attempt, version) = (whole(task.attempt), whole(task.version));
    update.execute(params![number, attempt, task.tries, version, due])?;
    Ok(task)
}

/// Makes an attempt's task due after this time. Returns `false` if this is not the latest attempt.
pub(crate) fn set_due(
    connection: &Connection,
    (id, attempt): (&TaskId, u64),
    after: Duration,
    gives_back: bool,
) -> Result<bool> {
    let mut update = connection.prepare_cached(
        "UPDATE tasks SET due = ?3, tries = max(0, tries - ?4) \
         WHERE id = ?1 AND attempt = ?2 AND due IS NOT NULL AND expires_at > ?5",
    )?;
    let now = now();
    let due = now + milliseconds(after);
    let changed = update.execute(params![id.as_str(), whole(attempt), due, gives_back, now])?;
    Ok(changed > 0)
}

/// Claims a step. Returns `Ok(None)` for an older attempt, and `Some(Err(()))` if there is no room.
pub(crate) fn begin_step(
    connection: &Connection,
    (id, attempt): (&TaskId, u64),
    (name, claim): (&str, ClaimId),
    limits: &TaskLimits,
) -> Result<Option<std::result::Result<OnceClaim, ()>>> {
    let Some(found) = latest(connection, id, attempt)? else {
        return Ok(None);
    };
    let mut select = connection
        .prepare_cached("SELECT result, claim IS ?3 FROM steps WHERE task = ?1 AND name = ?2")?;
    let known = select.query_row(params![found.number, name, claim.as_bytes()], |row| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (Some(result), _) => OnceClaim::Done(result),
            // The reply to the first claim was lost.
            (None, true) => OnceClaim::Granted,
            (None, false) => OnceClaim::Taken(String::new()),
        })
    });
    if let Some(known) = known.optional()? {
        return Ok(Some(Ok(known)));
    }
    if !add_bytes(connection, &found, length(name.len()), limits)? {
        return Ok(Some(Err(())));
    }
    let mut insert =
        connection.prepare_cached("INSERT INTO steps (task, name, claim) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![found.number, name, claim.as_bytes()])?;
    Ok(Some(Ok(OnceClaim::Granted)))
}

/// Stores a step's result. Returns `Ok(None)` for an older attempt, and `Some(false)` if there is no room.
pub(crate) fn complete_step(
    connection: &Connection,
    (id, attempt): (&TaskId, u64),
    (name, result): (&str, &str),
    limits: &TaskLimits,
) -> Result<Option<bool>> {
    let Some(found) = latest(connection, id, attempt)? else {
        return Ok(None);
    };
    if !has_room(connection, &found.task.owner, length(result.len()), limits)? {
        return Ok(Some(false));
    }
    let mut update = connection.prepare_cached(
        "UPDATE steps SET result = ?3 WHERE task = ?1 AND name = ?2 AND result IS NULL",
    )?;
    if update.execute(params![found.number, name, result])? > 0 {
        grow(connection, &found, length(result.len()))?;
        if found.task.tries > 1 {
            let mut restart =
                connection.prepare_cached("UPDATE tasks SET tries = 1 WHERE number = ?1")?;
            restart.execute(params![found.number])?;
        }
    }
    Ok(Some(true))
}

pub(crate) fn abandon_step(
    connection: &Connection,
    (id, attempt): (&TaskId, u64),
    (name, claim): (&str, ClaimId),
) -> Result<()> {
    let Some(found) = latest(connection, id, attempt)? else {
        return Ok(());
    };
    let mut forget = connection.prepare_cached(
        "DELETE FROM steps WHERE task = ?1 AND name = ?2 AND claim IS ?3 AND result IS NULL",
    )?;
    if forget.execute(params![found.number, name, claim.as_bytes()])? > 0 {
        grow(connection, &found, -length(name.len()))?;
    }
    Ok(())
}

/// Returns the task for an attempt if the attempt may still write to it.
fn latest(connection: &Connection, id: &TaskId, attempt: u64) -> Result<Option<TaskRow>> {
    let found = find(connection, id)?;
    Ok(found
        .filter(|found| found.task.attempt == attempt && found.task.status == TaskStatus::Working))
}
