//! The store that keeps tasks in this process.

mod operators;
mod steps;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout_at};

use crate::context::{ClaimId, OnceClaim, StoreFuture};
use crate::limits::TaskLimits;
use crate::lock::lock;
use crate::stores::memory_tasks::table::{StepEntry, TaskEntry, TaskTable};
use crate::stores::task::{NewTask, StoredTask, TaskChange, TaskDetails, TaskPage, TaskStatus};
use crate::stores::task_id::TaskId;
use crate::stores::task_store::{ClaimExceptions, TaskChanged, TaskClaim, TaskCreation, TaskStore};

/// An in-memory store, which is sufficient for a server that runs as a single instance. Its tasks are lost when the
/// server restarts.
///
/// The store is bounded by [`limits.tasks`](crate::Limits): the number of tasks per caller and in total, and their size
/// in bytes. Tasks whose time to live has expired are removed the next time the store is used.
#[derive(Debug)]
pub struct MemoryTaskStore {
    limits: TaskLimits,
    table: Mutex<TaskTable>,
}

impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new(TaskLimits::default())
    }
}

impl MemoryTaskStore {
    /// Creates an empty store with these limits.
    #[must_use]
    pub fn new(limits: TaskLimits) -> Self {
        Self {
            limits,
            table: Mutex::default(),
        }
    }

    /// Returns the table without the tasks whose time to live has ended.
    fn table(&self) -> MutexGuard<'_, TaskTable> {
        let mut table = lock(&self.table);
        let now = Instant::now();
        while let Some(id) = table.by_expiry.pop_expired(now) {
            table.remove(&id);
        }
        table
    }

    fn create_now(&self, task: &NewTask) -> Result<TaskCreation, &'static str> {
        let table = &mut *self.table();
        if let Some(known) = table.tasks.get(&task.id).map(|entry| &entry.task) {
            return if known.owner == task.owner {
                let created = StoredTask::created(task, known.created_at);
                Ok(TaskCreation::Created(created))
            } else {
                Err("the new task's id is already in use")
            };
        }
        let stored = StoredTask::created(task, SystemTime::now());
        let size = stored.size();
        let of_owner = table.by_owner.get(&task.owner);
        if of_owner.is_some_and(|owned| owned.ids.len() >= self.limits.max_per_caller)
            || table.bytes_of(&task.owner).saturating_add(size) > self.limits.max_bytes_per_caller
        {
            return Ok(TaskCreation::CallerFull);
        }
        if table.tasks.len() >= self.limits.max_tasks
            || table.bytes.saturating_add(size) > self.limits.max_bytes
        {
            return Ok(TaskCreation::Full);
        }
        let now = Instant::now();
        let (Some(expires), Some(lease)) = (now.checked_add(task.ttl), now.checked_add(task.lease))
        else {
            return Err("a task's time to live or lease exceeds the clock's range");
        };
        table.created = table.created.saturating_add(1);
        let number = table.created;
        let owner = Arc::clone(&task.owner);
        let of_owner = table.by_owner.entry(owner).or_default();
        of_owner.ids.insert(number, task.id.clone());
        of_owner.bytes = of_owner.bytes.saturating_add(size);
        table.bytes = table.bytes.saturating_add(size);
        table.by_expiry.insert(expires, task.id.clone());
        let entry = TaskEntry {
            task: stored.clone(),
            number,
            expires,
            due: None,
            steps: HashMap::new(),
            step_bytes: 0,
            changed: Arc::default(),
        };
        table.tasks.insert(task.id.clone(), entry);
        table.set_due(&task.id, Some(lease));
        Ok(TaskCreation::Created(stored))
    }

    fn list_now(&self, owner: &str, cursor: Option<&str>, max: usize) -> Option<TaskPage> {
        let table = self.table();
        // A cursor is the id of the last task on the page, which belongs to the caller, so it does not reveal anything
        // about other callers.
        let after = match cursor {
            None => 0,
            Some(cursor) => {
                let last = table.tasks.get(&TaskId::parse(cursor)?)?;
                (*last.task.owner == *owner).then_some(last.number)?
            }
        };
        let Some(all) = table.by_owner.get(owner) else {
            return Some(TaskPage::default());
        };
        let mut rest = all.ids.range(after.saturating_add(1)..);
        let mut tasks = Vec::new();
        for (_, id) in rest.by_ref().take(max.max(1)) {
            tasks.extend(table.tasks.get(id).map(|entry| entry.task.clone()));
        }
        let last = tasks.last().map(|task| task.id.to_string());
        let next = rest.next().and(last);
        Some(TaskPage::new(tasks, next))
    }

    fn change_now(&self, id: &TaskId, version: u64, change: TaskChange) -> TaskChanged {
        let table = &mut *self.table();
        let Some(entry) = table.tasks.get(id) else {
            return TaskChanged::Unchanged;
        };
        if entry.task.version != version || entry.task.status.is_final() {
            return TaskChanged::Unchanged;
        }
        let mut changed = entry.task.clone();
        changed.apply(change, SystemTime::now());
        let (before, after) = (entry.task.size(), changed.size());
        if after > before && !table.has_room(&changed.owner, after - before, &self.limits) {
            return TaskChanged::Full;
        }
        table.count(&changed.owner, before, after);
        let Some(entry) = table.tasks.get_mut(id) else {
            return TaskChanged::Unchanged;
        };
        let due = match changed.status {
            TaskStatus::Working => entry.due.or(Some(Instant::now())),
            _ => None,
        };
        entry.task = changed;
        let mut step_bytes = 0;
        if entry.task.status.is_final() && !entry.task.can_be_retried() {
            step_bytes = std::mem::take(&mut entry.step_bytes);
            entry.steps = HashMap::new();
        }
        entry.changed.notify_waiters();
        let changed = entry.task.clone();
        table.set_due(id, due);
        table.count(&changed.owner, step_bytes, 0);
        TaskChanged::Changed(changed)
    }

    fn claim_now(&self, id: &TaskId, lease: Duration) -> Option<StoredTask> {
        Self::claim_in(&mut self.table(), id, lease)
    }

    fn claim_due_now(&self, lease: Duration, except: &ClaimExceptions) -> TaskClaim {
        let table = &mut *self.table();
        let now = Instant::now();
        let next = table.next_due(now, except);
        let claimed = next.and_then(|id| Self::claim_in(table, &id, lease));
        if let Some(task) = claimed {
            table.end_turn(&task.owner);
            return TaskClaim::Claimed(task);
        }
        let mut later = table.by_due.range((now, u64::MAX)..);
        let next = later.next();
        TaskClaim::Wait(next.map(|((due, _), _)| due.saturating_duration_since(now)))
    }

    fn claim_in(table: &mut TaskTable, id: &TaskId, lease: Duration) -> Option<StoredTask> {
        let now = Instant::now();
        let until = now.checked_add(lease)?;
        let entry = table.tasks.get_mut(id)?;
        entry.due.filter(|due| *due <= now)?;
        entry.task.begin_attempt();
        entry.changed.notify_waiters();
        let task = entry.task.clone();
        table.set_due(id, Some(until));
        Some(task)
    }

    /// Makes an attempt's task due after this time. Returns `false` if this is not the latest attempt.
    fn set_due_now(
        &self,
        (id, attempt): (&TaskId, u64),
        after: Duration,
        gives_back: bool,
    ) -> bool {
        let table = &mut *self.table();
        let Some(due) = Instant::now().checked_add(after) else {
            return false;
        };
        let Some(entry) = table.tasks.get_mut(id) else {
            return false;
        };
        if entry.task.attempt != attempt || entry.task.status != TaskStatus::Working {
            return false;
        }
        if gives_back {
            entry.task.tries = entry.task.tries.saturating_sub(1);
        }
        table.set_due(id, Some(due));
        true
    }

    async fn wait_for_change(&self, id: &TaskId, version: u64) {
        loop {
            let (changed, expires) = {
                let table = self.table();
                match table.tasks.get(id) {
                    Some(entry) if entry.task.version == version => {
                        (Arc::clone(&entry.changed).notified_owned(), entry.expires)
                    }
                    _ => return,
                }
            };
            // The end of a task's time to live also counts as a change.
            let _ = timeout_at(expires, changed).await;
        }
    }
}

impl TaskStore for MemoryTaskStore {
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        let created = self.create_now(&task);
        Box::pin(async { created.map_err(Into::into) })
    }

    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        let task = self.table().tasks.get(id).map(|entry| entry.task.clone());
        Box::pin(async { Ok(task) })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let page = self.list_now(owner, cursor, max);
        Box::pin(async { Ok(page) })
    }

    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        let changed = self.change_now(id, version, change);
        Box::pin(async { Ok(changed) })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let claimed = self.claim_now(id, lease);
        Box::pin(async { Ok(claimed) })
    }

    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        let claim = self.claim_due_now(lease, except);
        Box::pin(async { Ok(claim) })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        let renewed = self.set_due_now((id, attempt), lease, false);
        Box::pin(async move { Ok(renewed) })
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        self.set_due_now((id, attempt), after, true);
        Box::pin(async { Ok(()) })
    }

    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.wait_for_change(id, version).await;
            Ok(())
        })
    }

    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        let known = self.as_attempt(id, attempt, |entry| match entry.steps.get(name)? {
            StepEntry::Done(result) => Some(OnceClaim::Done(result.to_string())),
            // The reply to the first claim was lost.
            StepEntry::Begun(known) if *known == claim => Some(OnceClaim::Granted),
            StepEntry::Begun(_) => Some(OnceClaim::Taken(String::new())),
        });
        let claim = match known.flatten() {
            Some(claim) => Ok(claim),
            None => self.with_steps((id, attempt, name.len()), |entry| {
                entry.steps.insert(name.into(), StepEntry::Begun(claim));
                entry.step_bytes = entry.step_bytes.saturating_add(name.len());
                OnceClaim::Granted
            }),
        };
        Box::pin(async move { Ok(claim?) })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let kept = self.with_steps((id, attempt, result.len()), |entry| {
            if let Some(step @ StepEntry::Begun(_)) = entry.steps.get_mut(name) {
                *step = StepEntry::Done(result.into());
                entry.step_bytes = entry.step_bytes.saturating_add(result.len());
                entry.task.step_completed();
            }
        });
        Box::pin(async move { Ok(kept?) })
    }

    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        // An older attempt does not have a step to abandon.
        let _ = self.with_steps((id, attempt, 0), |entry| {
            if let Some(StepEntry::Begun(known)) = entry.steps.get(name)
                && *known == claim
            {
                entry.steps.remove(name);
                entry.step_bytes = entry.step_bytes.saturating_sub(name.len());
            }
        });
        Box::pin(async { Ok(()) })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let mut table = self.table();
        let ids: Vec<TaskId> = table
            .by_owner
            .get(owner)
            .map(|owned| owned.ids.values().cloned().collect())
            .unwrap_or_default();
        for id in &ids {
            table.remove(id);
        }
        Box::pin(async move { Ok(ids.len()) })
    }

    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let page = self.list_all_now(cursor, max);
        Box::pin(async { Ok(page) })
    }

    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        let details = self.inspect_now(id);
        Box::pin(async { Ok(details) })
    }

    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        let retried = self.retry_now(id, version, not_done);
        Box::pin(async { Ok(retried) })
    }
}
