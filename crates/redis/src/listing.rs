//! Lists of tasks, which are merged from all partitions.

use std::cmp::Ordering;
use std::time::UNIX_EPOCH;

use futures_util::future::try_join_all;
use mcp_stores::{StoredTask, TaskId, TaskPage};

use crate::error::RedisError;
use crate::fields::{self, milliseconds};
use crate::link::Link;
use crate::link::OnLostConnection::Repeat;
use crate::{Redis, scripts};

/// The lowest number of a listed task, the numbers of the tasks, and the tasks.
type Numbered = (String, Vec<u64>, Vec<Vec<String>>);

/// Returns a caller's tasks in the order in which they were created, at least one more than `max` if there are so many.
/// Returns `None` if `after` is not one of them. Tasks with the same number are in the order of their partitions.
pub(crate) async fn list(
    redis: &Redis,
    owner: &str,
    after: Option<&TaskId>,
    max: usize,
) -> Result<Option<Vec<StoredTask>>, RedisError> {
    let partitions = &redis.0.partitions;
    let list = async |link: &Link, after: &str, lowest: &str| {
        let mut list = link.operation(&scripts::LIST);
        list.arg(owner).arg(max.saturating_add(1));
        list.arg(after).arg(lowest);
        link.script::<Option<Numbered>>(&list, Repeat).await
    };
    // Only a task's own partition knows its number.
    let start = match after {
        None => None,
        Some(id) => {
            let own = partitions.index(id);
            match list(partitions.at(own), id.as_str(), "").await? {
                Some(first) => Some((own, first)),
                None => return Ok(None),
            }
        }
    };
    let lists = partitions.all().enumerate().map(async |(index, link)| {
        let Some((own, (lowest, ..))) = &start else {
            return list(link, "", "-inf").await;
        };
        // Of tasks with the number of the previous page's last task, those in earlier partitions were listed before it.
        match index.cmp(own) {
            Ordering::Less => list(link, "", lowest).await,
            Ordering::Equal => Ok(None),
            Ordering::Greater => list(link, "", lowest.trim_start_matches('(')).await,
        }
    });
    let mut lists = try_join_all(lists).await?;
    if let Some((own, first)) = start
        && let Some(list) = lists.get_mut(own)
    {
        *list = Some(first);
    }
    let mut all = Vec::new();
    for (_, numbers, tasks) in lists.into_iter().flatten() {
        all.extend(numbers.into_iter().zip(tasks));
    }
    all.sort_by_key(|(number, _)| *number);
    let tasks = all.into_iter().map(|(_, task)| fields::read(task));
    tasks.collect::<Result<_, _>>().map(Some)
}

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
    let partitions = &redis.0.partitions;
    let own = after.as_ref().map(|(_, id)| partitions.index(id));
    let lists = partitions.all().enumerate().map(async |(index, link)| {
        let mut list = link.operation(&scripts::LIST_ALL);
        list.arg(max);
        match &after {
            Some((expires, id)) if own == Some(index) => list.arg(expires).arg(id.as_str()),
            // Of tasks that expire with the previous page's last task, those in earlier partitions were listed before it.
            Some((expires, _)) if own > Some(index) => list.arg(expires.saturating_add(1)).arg(""),
            Some((expires, _)) => list.arg(expires).arg(""),
            None => list.arg("").arg(""),
        };
        link.script::<Vec<Vec<String>>>(&list, Repeat).await
    });
    let tasks = try_join_all(lists).await?.into_iter().flatten();
    let mut tasks: Vec<_> = tasks.map(fields::read).collect::<Result<_, _>>()?;
    tasks.sort_by_key(expiry);
    let cursor = |task: &StoredTask| format!("{}-{}", expiry(task), task.id);
    Ok(Some(page(tasks, max, cursor)))
}

/// Returns the first tasks as a page, with a cursor if there are more.
pub(crate) fn page(
    mut tasks: Vec<StoredTask>,
    max: usize,
    cursor: impl Fn(&StoredTask) -> String,
) -> TaskPage {
    let has_more = tasks.len() > max;
    tasks.truncate(max);
    let next = tasks.last().filter(|_| has_more).map(cursor);
    TaskPage::new(tasks, next)
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
