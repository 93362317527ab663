//! The store that keeps tasks in this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::backend::task::{NewTask, StoredTask, TaskChange, TaskId, TaskPage, TaskStatus};
use crate::backend::task_store::{TaskCreation, TaskStore};
use crate::context::{OnceClaim, StoreFuture};
use crate::limits::TaskLimits;
use crate::lock::lock;

/// A store in memory. It is sufficient for a server that runs as a single instance; a restart loses its tasks.
///
/// It is bounded by [`limits.tasks`](crate::Limits): the number of tasks of one caller and of all callers, and the bytes
/// that all of them take. Tasks whose time to live has ended are removed by the next use of the store.
#[derive(Debug)]
pub struct MemoryTaskStore {
    limits: TaskLimits,
    table: Mutex<TaskTable>,
}

#[derive(Debug, Default)]
struct TaskTable {
    tasks: HashMap<TaskId, TaskEntry>,
    /// The ids of each caller's tasks in the order of their creation.
    by_owner: HashMap<Arc<str>, BTreeMap<u64, TaskId>>,
    /// The tasks in the order in which their time to live ends.
    by_expiry: BTreeMap<(Instant, u64), TaskId>,
    created: u64,
    bytes: usize,
}

#[derive(Debug)]
struct TaskEntry {
    task: StoredTask,
    number: u64,
    expires: Instant,
    lease: Option<Instant>,
    steps: HashMap<Box<str>, Option<Box<str>>>,
    /// Number of bytes of the steps.
    step_bytes: usize,
    changed: Arc<Notify>,
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
        while let Some(((expires, _), id)) = table.by_expiry.first_key_value()
            && *expires <= now
        {
            let id = id.clone();
            table.remove(&id);
        }
        table
    }

    fn create_now(&self, task: &NewTask) -> Result<TaskCreation, &'static str> {
        let table = &mut *self.table();
        if table.tasks.contains_key(&task.id) {
            return Err("the id of a new task is in use");
        }
        let of_owner = table.by_owner.get(&task.owner).map_or(0, BTreeMap::len);
        if of_owner >= self.limits.max_per_caller {
            return Ok(TaskCreation::CallerFull);
        }
        let stored = StoredTask::created(task, SystemTime::now());
        let bytes = table.bytes.saturating_add(stored.size());
        if table.tasks.len() >= self.limits.max_tasks || bytes > self.limits.max_bytes {
            return Ok(TaskCreation::Full);
        }
        let now = Instant::now();
        let (Some(expires), Some(lease)) = (now.checked_add(task.ttl), now.checked_add(task.lease))
        else {
            return Err("the time to live or the lease of a task is beyond the clock");
        };
        table.bytes = bytes;
        table.created = table.created.saturating_add(1);
        let number = table.created;
        let owner = Arc::clone(&task.owner);
        let of_owner = table.by_owner.entry(owner).or_default();
        of_owner.insert(number, task.id.clone());
        table.by_expiry.insert((expires, number), task.id.clone());
        let entry = TaskEntry {
            task: stored.clone(),
            number,
            expires,
            lease: Some(lease),
            steps: HashMap::new(),
            step_bytes: 0,
            changed: Arc::default(),
        };
        table.tasks.insert(task.id.clone(), entry);
        Ok(TaskCreation::Created(stored))
    }

    fn list_now(&self, owner: &str, cursor: Option<&str>, max: usize) -> Option<TaskPage> {
        let after = match cursor {
            None => 0,
            Some(cursor) => cursor.parse::<u64>().ok()?,
        };
        let table = self.table();
        let Some(numbers) = table.by_owner.get(owner) else {
            return Some(TaskPage::default());
        };
        let mut rest = numbers.range(after.saturating_add(1)..);
        let mut tasks = Vec::new();
        let mut last = after;
        for (number, id) in rest.by_ref().take(max.max(1)) {
            last = *number;
            tasks.extend(table.tasks.get(id).map(|entry| entry.task.clone()));
        }
        let next = rest.next().map(|_| last.to_string());
        Some(TaskPage::new(tasks, next))
    }

    fn change_now(
        &self,
        id: &TaskId,
        version: u64,
        change: TaskChange,
    ) -> Result<Option<StoredTask>, &'static str> {
        let table = &mut *self.table();
        let Some(entry) = table.tasks.get_mut(id) else {
            return Ok(None);
        };
        if entry.task.version != version || entry.task.status.is_final() {
            return Ok(None);
        }
        let mut changed = entry.task.clone();
        changed.apply(change, SystemTime::now());
        let others = table.bytes.saturating_sub(entry.task.size());
        let bytes = others.saturating_add(changed.size());
        if bytes > self.limits.max_bytes && changed.size() > entry.task.size() {
            return Err("the store of tasks is full");
        }
        table.bytes = bytes;
        entry.task = changed;
        if entry.task.status != TaskStatus::Working {
            entry.lease = None;
        }
        if entry.task.status.is_final() {
            table.bytes = table.bytes.saturating_sub(entry.step_bytes);
            entry.step_bytes = 0;
            entry.steps = HashMap::new();
        }
        entry.changed.notify_waiters();
        Ok(Some(entry.task.clone()))
    }

    fn claim_now(&self, id: &TaskId, lease: Duration) -> Option<StoredTask> {
        let mut table = self.table();
        let entry = table.tasks.get_mut(id)?;
        let now = Instant::now();
        let is_held = entry.lease.is_some_and(|until| until > now);
        if is_held || entry.task.status != TaskStatus::Working {
            return None;
        }
        entry.lease = Some(now.checked_add(lease)?);
        entry.task.attempt = entry.task.attempt.saturating_add(1);
        entry.task.version = entry.task.version.saturating_add(1);
        entry.changed.notify_waiters();
        Some(entry.task.clone())
    }

    /// Calls `work` with the entry of a task if this attempt may still write.
    fn as_attempt<T>(
        &self,
        id: &TaskId,
        attempt: u64,
        work: impl FnOnce(&mut TaskEntry, &mut usize) -> T,
    ) -> Option<T> {
        let table = &mut *self.table();
        let entry = table.tasks.get_mut(id)?;
        let is_latest = entry.task.attempt == attempt && entry.task.status == TaskStatus::Working;
        is_latest.then(|| work(entry, &mut table.bytes))
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
            // The end of the time to live is a change as well.
            let _ = timeout_at(expires, changed).await;
        }
    }
}

impl TaskTable {
    fn remove(&mut self, id: &TaskId) {
        let Some(entry) = self.tasks.remove(id) else {
            return;
        };
        self.by_expiry.remove(&(entry.expires, entry.number));
        if let Some(numbers) = self.by_owner.get_mut(&entry.task.owner) {
            numbers.remove(&entry.number);
            if numbers.is_empty() {
                self.by_owner.remove(&entry.task.owner);
            }
        }
        let size = entry.task.size().saturating_add(entry.step_bytes);
        self.bytes = self.bytes.saturating_sub(size);
        entry.changed.notify_waiters();
    }
}

/// The error for an attempt that is not the latest.
const STALE: &str = "the task has ended or is run elsewhere";

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
    ) -> StoreFuture<'a, Option<StoredTask>> {
        let changed = self.change_now(id, version, change);
        Box::pin(async { changed.map_err(Into::into) })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let claimed = self.claim_now(id, lease);
        Box::pin(async { Ok(claimed) })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        let until = Instant::now().checked_add(lease);
        let renewed = self.as_attempt(id, attempt, |entry, _| entry.lease = until);
        Box::pin(async move { Ok(renewed.is_some()) })
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64) -> StoreFuture<'a, ()> {
        self.as_attempt(id, attempt, |entry, _| entry.lease = None);
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
    ) -> StoreFuture<'a, OnceClaim> {
        let max = self.limits.max_bytes;
        let claim = self.as_attempt(id, attempt, |entry, bytes| match entry.steps.get(name) {
            Some(Some(result)) => Ok(OnceClaim::Done(result.to_string())),
            Some(None) => Ok(OnceClaim::Taken),
            None if bytes.saturating_add(name.len()) > max => Err("the store of tasks is full"),
            None => {
                entry.steps.insert(name.into(), None);
                entry.step_bytes += name.len();
                *bytes += name.len();
                Ok(OnceClaim::Granted)
            }
        });
        Box::pin(async move { Ok(claim.ok_or(STALE)??) })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let max = self.limits.max_bytes;
        let kept = self.as_attempt(id, attempt, |entry, bytes| {
            if bytes.saturating_add(result.len()) > max {
                return Err("the store of tasks is full");
            }
            if let Some(step @ None) = entry.steps.get_mut(name) {
                *step = Some(result.into());
                entry.step_bytes += result.len();
                *bytes += result.len();
            }
            Ok(())
        });
        Box::pin(async move { Ok(kept.ok_or(STALE)??) })
    }

    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.as_attempt(id, attempt, |entry, bytes| {
            if let Some(None) = entry.steps.get(name) {
                entry.steps.remove(name);
                entry.step_bytes = entry.step_bytes.saturating_sub(name.len());
                *bytes = bytes.saturating_sub(name.len());
            }
        });
        Box::pin(async { Ok(()) })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let mut table = self.table();
        let ids: Vec<TaskId> = table
            .by_owner
            .get(owner)
            .map(|numbers| numbers.values().cloned().collect())
            .unwrap_or_default();
        for id in &ids {
            table.remove(id);
        }
        Box::pin(async move { Ok(ids.len()) })
    }
}

#[cfg(test)]
mod tests;
