//! Stores tasks. The runtime defines the rules for changes; Redis uses versions to determine which change comes first.

use std::time::Duration;

use mcp_runtime::backend::{
    NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskDetails, TaskId,
    TaskPage, TaskStore,
};
use mcp_runtime::once::{OnceClaim, StoreFuture};
use tokio::time::timeout;

use crate::error::RedisError;
use crate::fields::{self, milliseconds};
use crate::link::OnLostConnection::{Fail, Repeat};
use crate::{Redis, once, operators, scripts};

/// Time after which a task is read again even if Redis has not reported a change.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The error for an attempt that is not the latest attempt.
const STALE: &str = "the task has ended or was claimed again";
/// The error for a step for which there is no room.
const FULL: &str = "the task store is full";

impl Redis {
    /// Returns a task and the time according to Redis's clock.
    pub(crate) async fn find(
        &self,
        id: &TaskId,
    ) -> Result<Option<(StoredTask, std::time::SystemTime)>, RedisError> {
        let mut load = self.script(&scripts::LOAD);
        let mut reply: Vec<String> = self.0.link.script(load.arg(id.as_str()), Repeat).await?;
        let fields = reply.split_off(reply.len().min(1));
        let now = reply.first().and_then(|now| fields::time(now));
        let now = now.ok_or_else(RedisError::unexpected)?;
        if fields.is_empty() {
            return Ok(None);
        }
        Ok(Some((fields::read(fields)?, now)))
    }

    /// Makes an attempt's task due after this time. Returns `false` if this is not the latest attempt.
    async fn set_due(
        &self,
        (id, attempt): (&TaskId, u64),
        after: Duration,
        gives_back: bool,
    ) -> Result<bool, RedisError> {
        let mut set = self.script(&scripts::SET_DUE);
        set.arg(id.as_str()).arg(attempt).arg(milliseconds(after));
        set.arg(u8::from(gives_back));
        // Giving the task back a second time would count another attempt as given back.
        let after_loss = if gives_back { Fail } else { Repeat };
        self.0.link.script(&set, after_loss).await
    }
}

impl TaskStore for Redis {
    fn outlives_process(&self) -> bool {
        true
    }

    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        Box::pin(async move {
            let limits = &self.0.options.limits.tasks;
            let size = StoredTask::created(&task, std::time::UNIX_EPOCH).size();
            let mut create = self.script(&scripts::CREATE);
            create.arg(task.id.as_str()).arg(&*task.owner).arg(size);
            create
                .arg(milliseconds(task.ttl))
                .arg(milliseconds(task.lease));
            create.arg(limits.max_tasks).arg(limits.max_per_caller);
            create
                .arg(limits.max_bytes)
                .arg(limits.max_bytes_per_caller);
            create.arg("size").arg(size);
            for (field, value) in fields::of_new(&task) {
                create.arg(field).arg(value);
            }
            let reply: Vec<String> = self.0.link.script(&create, Fail).await?;
            let reply: Vec<&str> = reply.iter().map(|text| &**text).collect();
            match reply[..] {
                ["created", now] => {
                    let now = fields::time(now).ok_or_else(RedisError::unexpected)?;
                    Ok(TaskCreation::Created(StoredTask::created(&task, now)))
                }
                ["caller full"] => Ok(TaskCreation::CallerFull),
                ["full"] => Ok(TaskCreation::Full),
                ["in use"] => Err(RedisError::text("the new task's id is already in use").into()),
                _ => Err(RedisError::unexpected().into()),
            }
        })
    }

    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move { Ok(self.find(id).await?.map(|(task, _)| task)) })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        Box::pin(async move {
            let cursor = match cursor.map(TaskId::parse) {
                Some(None) => return Ok(None),
                cursor => cursor.flatten(),
            };
            let max = max.max(1);
            let mut list = self.script(&scripts::LIST);
            list.arg(owner).arg(max.saturating_add(1));
            list.arg(cursor.as_ref().map_or("", |id| id.as_str()));
            let mut reply: Vec<Vec<String>> = self.0.link.script(&list, Repeat).await?;
            let tasks = reply.split_off(reply.len().min(1));
            if reply.first().is_none_or(|kind| *kind != ["page"]) {
                return Ok(None);
            }
            let has_more = tasks.len() > max;
            let tasks = tasks.into_iter().take(max).map(fields::read);
            let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
            let end_of_page = tasks.last().filter(|_| has_more);
            let next = end_of_page.map(|task| task.id.to_string());
            Ok(Some(TaskPage::new(tasks, next)))
        })
    }

    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        Box::pin(async move {
            let Some((mut task, now)) = self.find(id).await? else {
                return Ok(TaskChanged::Unchanged);
            };
            if task.version != version || task.status.is_final() {
                return Ok(TaskChanged::Unchanged);
            }
            task.apply(change, now);
            let limits = &self.0.options.limits.tasks;
            let mut change = self.script(&scripts::CHANGE);
            change
                .arg(id.as_str())
                .arg(version)
                .arg(task.status.as_str());
            change.arg(task.size());
            change
                .arg(limits.max_bytes)
                .arg(limits.max_bytes_per_caller)
                .arg(u8::from(task.status.is_final() && !task.can_be_retried()));
            for (field, value) in fields::of_changed(&task) {
                change.arg(field).arg(value);
            }
            let reply: Vec<String> = self.0.link.script(&change, Fail).await?;
            match reply.first().map(|text| &**text) {
                Some("changed") => Ok(TaskChanged::Changed(task)),
                Some("unchanged") => Ok(TaskChanged::Unchanged),
                Some("full") => Ok(TaskChanged::Full),
                _ => Err(RedisError::unexpected().into()),
            }
        })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move {
            let mut claim = self.script(&scripts::CLAIM);
            claim.arg(id.as_str()).arg(milliseconds(lease));
            let fields: Vec<String> = self.0.link.script(&claim, Fail).await?;
            if fields.is_empty() {
                return Ok(None);
            }
            Ok(Some(fields::read(fields)?))
        })
    }

    fn claim_due(&self, lease: Duration) -> StoreFuture<'_, TaskClaim> {
        Box::pin(async move {
            let mut claim = self.script(&scripts::CLAIM_DUE);
            claim.arg(milliseconds(lease));
            let reply: Vec<String> = self.0.link.script(&claim, Fail).await?;
            if reply.first().is_none_or(|kind| kind != "wait") {
                return Ok(TaskClaim::Claimed(fields::read(reply)?));
            }
            let wait = reply.get(1).and_then(|wait| wait.parse().ok());
            Ok(TaskClaim::Wait(wait.map(Duration::from_millis)))
        })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.set_due((id, attempt), lease, false).await?) })
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { Ok(self.set_due((id, attempt), after, true).await.map(drop)?) })
    }

    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            loop {
                let of_task = self.0.changes.of(id.as_str().as_bytes());
                let mut changed = std::pin::pin!(of_task.notified());
                // From here on, changes are not missed while the connection lasts; a new connection wakes all callers.
                changed.as_mut().enable();
                let mut known = self.script(&scripts::VERSION);
                let known: Vec<u64> = self.0.link.script(known.arg(id.as_str()), Repeat).await?;
                let [now, left] = known[..] else {
                    return Ok(());
                };
                if now != version {
                    return Ok(());
                }
                let left = Duration::from_millis(left);
                let _ = timeout(left.min(LOOK_AGAIN), changed).await;
            }
        })
    }

    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let limits = &self.0.options.limits.tasks;
            let mut begin = self.script(&scripts::BEGIN_STEP);
            begin
                .arg(id.as_str())
                .arg(attempt)
                .arg(name)
                .arg(once::claim());
            begin.arg(limits.max_bytes).arg(limits.max_bytes_per_caller);
            let reply: Vec<String> = self.0.link.script(&begin, Repeat).await?;
            match reply.first().map(|text| &**text) {
                Some("stale") => Err(STALE.into()),
                Some("full") => Err(FULL.into()),
                _ => Ok(once::read_claim(reply)?),
            }
        })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let limits = &self.0.options.limits.tasks;
        let mut complete = self.script(&scripts::COMPLETE_STEP);
        complete.arg(id.as_str()).arg(attempt).arg(name).arg(result);
        complete
            .arg(limits.max_bytes)
            .arg(limits.max_bytes_per_caller);
        let done = self.record(complete);
        Box::pin(async move {
            let reply: Vec<String> = done.await?;
            match reply.first().map(|text| &**text) {
                Some("done") => Ok(()),
                Some("stale") => Err(STALE.into()),
                Some("full") => Err(FULL.into()),
                _ => Err(RedisError::unexpected().into()),
            }
        })
    }

    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut abandon = self.script(&scripts::ABANDON_STEP);
            abandon.arg(id.as_str()).arg(attempt).arg(name);
            Ok(self.0.link.script(&abandon, Fail).await?)
        })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        Box::pin(async move {
            let mut delete = self.script(&scripts::DELETE_ALL);
            Ok(self.0.link.script(delete.arg(owner), Fail).await?)
        })
    }

    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        Box::pin(async move { Ok(operators::list_all(self, cursor, max).await?) })
    }

    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        Box::pin(async move { Ok(operators::inspect(self, id).await?) })
    }

    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        Box::pin(async move { Ok(operators::retry(self, id, version, not_done).await?) })
    }
}
