//! The operations that operators perform on tasks.

use std::time::{Duration, UNIX_EPOCH};

use mcp_runtime::backend::{StoredTask, TaskChanged, TaskDetails, TaskId, TaskPage, TaskStep};

use crate::error::RedisError;
use crate::fields::{self, milliseconds};
use crate::link::OnLostConnection::{Fail, Repeat};
use crate::{Redis, scripts};

/// Returns a page of all tasks, in order of expiry. A cursor is the last task's expiry time and id.
pub(crate) async fn list_all(
    redis: &Redis,
    cursor: Option<&str>,
    max: usize,
) -> Result<Option<TaskPage>, RedisError> {
    let after = match cursor.map(read_cursor) {
        Some(None) => return Ok(None),
        after => after.flatten(),
    };
    let max = max.max(1);
    let mut script = redis.script(&scripts::LIST_ALL);
    script.arg(max);
    match &after {
        Some((expires, id)) => script.arg(expires).arg(id.as_str()),
        None => script.arg("").arg(""),
    };
    let tasks: Vec<Vec<String>> = redis.0.link.script(&script, Repeat).await?;
    let has_more = tasks.len() > max;
    let tasks = tasks.into_iter().take(max).map(fields::read);
    let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
    let last = tasks.last().filter(|_| has_more);
    let next = last.map(|task| format!("{}-{}", expiry(task), task.id));
    Ok(Some(TaskPage::new(tasks, next)))
}

/// Returns a task's expiry time, in milliseconds since 1970.
fn expiry(task: &StoredTask) -> u64 {
    let created = task.created_at.duration_since(UNIX_EPOCH);
    milliseconds(created.unwrap_or_default()).saturating_add(milliseconds(task.ttl))
}

fn read_cursor(cursor: &str) -> Option<(u64, TaskId)> {
    let (expires, id) = cursor.split_once('-')?;
    Some((expires.parse().ok()?, TaskId::parse(id)?))
}

pub(crate) async fn inspect(redis: &Redis, id: &TaskId) -> Result<Option<TaskDetails>, RedisError> {
    let mut inspect = redis.script(&scripts::INSPECT);
    let reply: Vec<Vec<String>> = redis
        .0
        .link
        .script(inspect.arg(id.as_str()), Repeat)
        .await?;
    let mut reply = reply.into_iter();
    let (Some(task), Some(due_in), Some(steps)) = (reply.next(), reply.next(), reply.next()) else {
        return Ok(None);
    };
    let due_in = due_in.first().map(|left| left.parse());
    let due_in = due_in.transpose().map_err(|_| RedisError::unexpected())?;
    let (names, _) = steps.as_chunks::<2>();
    let steps = names
        .iter()
        .map(|[name, is_done]| TaskStep::new(&**name, is_done == "1"));
    let due_in = due_in.map(Duration::from_millis);
    Ok(Some(TaskDetails::new(
        fields::read(task)?,
        due_in,
        steps.collect(),
    )))
}

pub(crate) async fn retry(
    redis: &Redis,
    id: &TaskId,
    version: u64,
    not_done: Option<&str>,
) -> Result<TaskChanged, RedisError> {
    let Some((mut task, now)) = redis.find(id).await? else {
        return Ok(TaskChanged::Unchanged);
    };
    if task.version != version || !task.can_be_retried() {
        return Ok(TaskChanged::Unchanged);
    }
    task.retry(now);
    let mut retry = redis.script(&scripts::RETRY);
    retry.arg(id.as_str()).arg(version);
    retry.arg(not_done.unwrap_or_default()).arg(task.size());
    retry.arg("status").arg(task.status.as_str());
    retry.arg("tries").arg(task.tries);
    for (field, value) in fields::of_changed(&task) {
        retry.arg(field).arg(value);
    }
    let reply: Vec<String> = redis.0.link.script(&retry, Fail).await?;
    match reply.first().map(|text| &**text) {
        Some("changed") => Ok(TaskChanged::Changed(task)),
        Some("unchanged") => Ok(TaskChanged::Unchanged),
        _ => Err(RedisError::unexpected()),
    }
}
