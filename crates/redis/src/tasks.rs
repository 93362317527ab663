//! Stores tasks, each in the partition that its id determines. The runtime defines the rules for changes; Redis uses
//! versions to determine which change comes first.

use std::time::Duration;

use futures_util::future::try_join_all;
use mcp_core::context::{ClaimId, OnceClaim, StoreFuture};
use mcp_stores::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskPage, TaskStore,
};
use tokio::time::{sleep, timeout};

use crate::error::RedisError;
use crate::fields::{self, milliseconds};
use crate::link::Link;
use crate::link::OnLostConnection::{Fail, Repeat};
use crate::{Redis, listing, once, operators, scripts};

/// Time after which a task is read again even if Redis has not reported a change.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Time between two attempts to withdraw a task, which is shorter than any lease.
const WITHDRAW_AGAIN: Duration = Duration::from_millis(250);
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
        let link = self.0.partitions.of(id);
        let mut load = link.operation(&scripts::LOAD);
        let mut reply: Vec<String> = link.script(load.arg(id.as_str()), Repeat).await?;
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
        let link = self.0.partitions.of(id);
        let mut set = link.operation(&scripts::SET_DUE);
        set.arg(id.as_str()).arg(attempt).arg(milliseconds(after));
        set.arg(if gives_back {
            once::claim()
        } else {
            String::new()
        });
        link.script(&set, Repeat).await
    }

    /// Takes back a creation of which it is unknown whether it was, or will be, carried out. Tries until Redis replies,
    /// or until the task has expired.
    fn withdraw(&self, id: TaskId, ttl: Duration) {
        let store = self.clone();
        tokio::spawn(timeout(ttl, async move {
            let link = store.0.partitions.of(&id);
            let mut withdraw = link.operation(&scripts::WITHDRAW);
            withdraw.arg(id.as_str());
            while link.script::<u64>(&withdraw, Repeat).await.is_err() {
                sleep(WITHDRAW_AGAIN).await;
            }
        }));
    }

    /// Returns the number of a caller's tasks in all partitions but this task's, and their bytes.
    async fn usage_elsewhere(
        &self,
        owner: &str,
        id: &TaskId,
    ) -> Result<(usize, usize), RedisError> {
        let usages = self.0.partitions.without(id).map(async |link| {
            let mut usage = link.operation(&scripts::USAGE);
            link.script::<(usize, usize)>(usage.arg(owner), Repeat)
                .await
        });
        let usages = try_join_all(usages).await?;
        Ok(usages.into_iter().fold((0, 0), |sum: (usize, usize), of| {
            (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1))
        }))
    }

    /// Returns the maximum number of bytes in one partition, in all and for one caller.
    fn max_bytes(&self) -> (usize, usize) {
        let limits = &self.0.options.limits.tasks;
        let all = self.0.partitions.share(limits.max_bytes);
        (all, limits.max_bytes_per_caller)
    }
}

/// Claims the next due task of a partition.
async fn claim_due(
    link: &Link,
    lease: Duration,
    except: &ClaimExceptions,
) -> Result<TaskClaim, RedisError> {
    let mut claim = link.operation(&scripts::CLAIM_DUE);
    claim.arg(milliseconds(lease)).arg(once::claim());
    claim.arg(except.tasks.len());
    for task in &except.tasks {
        claim.arg(task.as_str());
    }
    for tool in &except.tools {
        claim.arg(&**tool);
    }
    let reply: Vec<String> = link.script(&claim, Repeat).await?;
    if reply.first().is_none_or(|kind| kind != "wait") {
        return Ok(TaskClaim::Claimed(fields::read(reply)?));
    }
    let wait = reply.get(1).and_then(|wait| wait.parse().ok());
    Ok(TaskClaim::Wait(wait.map(Duration::from_millis)))
}

impl TaskStore for Redis {
    fn outlives_process(&self) -> bool {
        true
    }

    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        Box::pin(async move {
            let limits = &self.0.options.limits.tasks;
            let size = StoredTask::created(&task, std::time::UNIX_EPOCH).size();
            let partitions = &self.0.partitions;
            let (tasks, bytes) = self.usage_elsewhere(&task.owner, &task.id).await?;
            let link = partitions.of(&task.id);
            let mut create = link.operation(&scripts::CREATE);
            create.arg(task.id.as_str()).arg(&*task.owner).arg(size);
            create
                .arg(milliseconds(task.ttl))
                .arg(milliseconds(task.lease));
            let (max_bytes, max_bytes_per_caller) = self.max_bytes();
            create.arg(partitions.share(limits.max_tasks));
            create.arg(limits.max_per_caller.saturating_sub(tasks));
            create
                .arg(max_bytes)
                .arg(max_bytes_per_caller.saturating_sub(bytes));
            create.arg("size").arg(size);
            for (field, value) in fields::of_new(&task) {
                create.arg(field).arg(value);
            }
            let reply = link.script::<Vec<String>>(&create, Repeat).await;
            let reply = reply.inspect_err(|error| {
                if error.is_outcome_unknown {
                    self.withdraw(task.id.clone(), task.ttl);
                }
            })?;
            let reply: Vec<&str> = reply.iter().map(|text| &**text).collect();
            match reply[..] {
                ["created", now] => {
                    let now = fields::time(now).ok_or_else(RedisError::unexpected)?;
                    Ok(TaskCreation::Created(StoredTask::created(&task, now)))
                }
                ["caller full"] => Ok(TaskCreation::CallerFull),
                ["full"] => Ok(TaskCreation::Full),
                ["withdrawn"] => Err(RedisError::text("the task was withdrawn").into()),
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
            let tasks = listing::list(self, owner, cursor.as_ref(), max).await?;
            Ok(tasks.map(|tasks| listing::page(tasks, max, |task| task.id.to_string())))
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
            let link = self.0.partitions.of(id);
            let mut change = link.operation(&scripts::CHANGE);
            let (max_bytes, max_bytes_per_caller) = self.max_bytes();
            change
                .arg(id.as_str())
                .arg(version)
                .arg(task.status.as_str());
            change.arg(task.size());
            change
                .arg(max_bytes)
                .arg(max_bytes_per_caller)
                .arg(u8::from(task.status.is_final() && !task.can_be_retried()))
                .arg(once::claim());
            for (field, value) in fields::of_changed(&task) {
                change.arg(field).arg(value);
            }
            let reply: Vec<String> = link.script(&change, Repeat).await?;
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
            let link = self.0.partitions.of(id);
            let mut claim = link.operation(&scripts::CLAIM);
            claim.arg(id.as_str()).arg(milliseconds(lease));
            claim.arg(once::claim());
            let fields: Vec<String> = link.script(&claim, Repeat).await?;
            if fields.is_empty() {
                return Ok(None);
            }
            Ok(Some(fields::read(fields)?))
        })
    }

    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        Box::pin(async move {
            let (mut next, mut failure) = (None, None);
            for link in self.0.partitions.by_turns() {
                match claim_due(link, lease, except).await {
                    Ok(TaskClaim::Wait(wait)) => next = next.into_iter().chain(wait).min(),
                    Ok(claimed) => return Ok(claimed),
                    // Tasks in other partitions can be claimed nevertheless.
                    Err(error) => failure = Some(error),
                }
            }
            failure.map_or(Ok(TaskClaim::Wait(next)), |error| Err(error.into()))
        })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.set_due((id, attempt), lease, false).await?) })
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { Ok(self.set_due((id, attempt), after, true).await.map(drop)?) })
    }

    fn released(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.0.changes.due().await;
            Ok(())
        })
    }

    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let link = self.0.partitions.of(id);
            loop {
                let of_task = self.0.changes.of(id.as_str().as_bytes());
                let mut changed = std::pin::pin!(of_task.notified());
                // From here on, changes are not missed while the connection lasts; a new connection wakes all callers.
                changed.as_mut().enable();
                let mut known = link.operation(&scripts::VERSION);
                let known: Vec<u64> = link.script(known.arg(id.as_str()), Repeat).await?;
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
        run: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let link = self.0.partitions.of(id);
            let mut begin = link.operation(&scripts::BEGIN_STEP);
            let (max_bytes, max_bytes_per_caller) = self.max_bytes();
            begin
                .arg(id.as_str())
                .arg(attempt)
                .arg(name)
                .arg(run.to_string());
            begin.arg(max_bytes).arg(max_bytes_per_caller);
            let reply: Vec<String> = link.script(&begin, Repeat).await?;
            match reply.first().map(|text| &**text) {
                Some("stale") => Err(once::refused(STALE)),
                Some("full") => Err(once::refused(FULL)),
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
        let partition = self.0.partitions.index(id);
        let link = self.0.partitions.at(partition);
        let mut complete = link.operation(&scripts::COMPLETE_STEP);
        let (max_bytes, max_bytes_per_caller) = self.max_bytes();
        complete.arg(id.as_str()).arg(attempt).arg(name).arg(result);
        complete.arg(max_bytes).arg(max_bytes_per_caller);
        let done = self.record(partition, complete);
        Box::pin(async move {
            let reply: Vec<String> = done.await?;
            match reply.first().map(|text| &**text) {
                Some("done") => Ok(()),
                Some("stale") => Err(once::refused(STALE)),
                Some("full") => Err(once::refused(FULL)),
                _ => Err(RedisError::unexpected().into()),
            }
        })
    }

    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        run: ClaimId,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let link = self.0.partitions.of(id);
            let mut abandon = link.operation(&scripts::ABANDON_STEP);
            abandon.arg(id.as_str()).arg(attempt).arg(name);
            abandon.arg(run.to_string());
            Ok(link.script(&abandon, Repeat).await?)
        })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        Box::pin(async move {
            let deleted = self.0.partitions.all().map(async |link| {
                let mut delete = link.operation(&scripts::DELETE_ALL);
                link.script::<usize>(delete.arg(owner), Fail).await
            });
            Ok(try_join_all(deleted).await?.into_iter().sum())
        })
    }

    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        Box::pin(async move { Ok(listing::list_all(self, cursor, max).await?) })
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
