//! The operations that operators perform on tasks.

use std::time::Duration;

use mcp_stores::{TaskChanged, TaskDetails, TaskId, TaskStep};

use crate::error::RedisError;
use crate::fields;
use crate::link::OnLostConnection::Repeat;
use crate::{Redis, once, scripts};

pub(crate) async fn inspect(redis: &Redis, id: &TaskId) -> Result<Option<TaskDetails>, RedisError> {
    let link = redis.0.partitions.of(id);
    let mut inspect = link.operation(&scripts::INSPECT);
    let reply: Vec<Vec<String>> = link.script(inspect.arg(id.as_str()), Repeat).await?;
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
    let link = redis.0.partitions.of(id);
    let mut retry = link.operation(&scripts::RETRY);
    retry.arg(id.as_str()).arg(version);
    retry.arg(not_done.unwrap_or_default()).arg(task.size());
    retry.arg(once::claim());
    retry.arg("status").arg(task.status.as_str());
    retry.arg("tries").arg(task.tries);
    for (field, value) in fields::of_changed(&task) {
        retry.arg(field).arg(value);
    }
    let reply: Vec<String> = link.script(&retry, Repeat).await?;
    match reply.first().map(|text| &**text) {
        Some("changed") => Ok(TaskChanged::Changed(task)),
        Some("unchanged") => Ok(TaskChanged::Unchanged),
        _ => Err(RedisError::unexpected()),
    }
}
