//! The store that keeps tasks in this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use mcp_core::context::{ClaimId, OnceClaim, StoreFuture, StoreRefusal};
use mcp_core::limits::TaskLimits;
use mcp_core::sync::lock;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::ExpiryOrder;
use crate::task_store::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskPage, TaskStatus, TaskStep, TaskStore,
};

/// An in-memory store, which is sufficient for a server that runs as a single instance. Its tasks are lost when the
/// server restarts.
///
/// The store is bounded by [`limits.tasks`](mcp_core::limits::Limits): the number of tasks per caller and in total, and their size
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

// --- The tasks kept in memory, and their size in bytes.

/// The tasks, indexed by several keys, and their size in bytes.
#[derive(Debug, Default)]
struct TaskTable {
    pub(super) tasks: HashMap<TaskId, TaskEntry>,
    pub(super) by_owner: HashMap<Arc<str>, CallerTasks>,
    pub(super) by_expiry: ExpiryOrder<TaskId>,
    /// The working tasks in the order in which they are due.
    pub(super) by_due: BTreeMap<(Instant, u64), TaskId>,
    pub(super) created: u64,
    /// Number of claims of due tasks.
    pub(super) turns: u64,
    pub(super) bytes: usize,
}

/// A single caller's tasks.
#[derive(Debug, Default)]
struct CallerTasks {
    /// The ids in order of creation.
    pub(super) ids: BTreeMap<u64, TaskId>,
    pub(super) bytes: usize,
    /// The number of the caller's last turn, or zero.
    pub(super) last_turn: u64,
}

/// A step in a task.
#[derive(Debug)]
enum StepEntry {
    Begun(ClaimId),
    /// The step is done, with this result.
    Done(Box<str>),
}

/// A task with its lease and its steps.
#[derive(Debug)]
struct TaskEntry {
    pub(super) task: StoredTask,
    pub(super) number: u64,
    pub(super) expires: Instant,
    /// The time from which a process can claim the task, which is the end of its lease. `None` unless the task is
    /// working.
    pub(super) due: Option<Instant>,
    pub(super) steps: HashMap<Box<str>, StepEntry>,
    /// Size of the steps in bytes.
    pub(super) step_bytes: usize,
    pub(super) changed: Arc<Notify>,
}

impl TaskTable {
    pub(super) fn bytes_of(&self, owner: &str) -> usize {
        self.by_owner.get(owner).map_or(0, |owned| owned.bytes)
    }

    pub(super) fn has_room(&self, owner: &str, more: usize, limits: &TaskLimits) -> bool {
        self.bytes.saturating_add(more) <= limits.max_bytes
            && self.bytes_of(owner).saturating_add(more) <= limits.max_bytes_per_caller
    }

    /// Replaces `before` bytes with `after` bytes in a caller's count.
    pub(super) fn count(&mut self, owner: &str, before: usize, after: usize) {
        let counted = |bytes: usize| bytes.saturating_sub(before).saturating_add(after);
        self.bytes = counted(self.bytes);
        if let Some(owned) = self.by_owner.get_mut(owner) {
            owned.bytes = counted(owned.bytes);
        }
    }

    /// Sets the time from which a process can claim a task.
    fn set_due(&mut self, id: &TaskId, due: Option<Instant>) {
        let Some(entry) = self.tasks.get_mut(id) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut entry.due, due) {
            self.by_due.remove(&(before, entry.number));
        }
        if let Some(due) = due {
            self.by_due.insert((due, entry.number), id.clone());
        }
    }

    /// Returns the due task whose turn it is.
    fn next_due(&self, now: Instant, except: &ClaimExceptions) -> Option<TaskId> {
        let due = self.by_due.range(..=(now, u64::MAX)).map(|(_, id)| id);
        let due = due.filter_map(|id| self.tasks.get(id));
        let due = due.filter(|entry| !except.contains(&entry.task));
        let last_turn = |owner: &str| self.by_owner.get(owner).map_or(0, |owned| owned.last_turn);
        // Among the tasks of a caller, the first one is returned.
        let next = due.min_by_key(|entry| last_turn(&entry.task.owner));
        next.map(|entry| entry.task.id.clone())
    }

    /// Records that a caller has had its turn.
    pub(super) fn end_turn(&mut self, owner: &str) {
        self.turns = self.turns.saturating_add(1);
        if let Some(owned) = self.by_owner.get_mut(owner) {
            owned.last_turn = self.turns;
        }
    }

    pub(super) fn remove(&mut self, id: &TaskId) {
        let Some(entry) = self.tasks.remove(id) else {
            return;
        };
        self.by_expiry.remove(entry.expires, id);
        if let Some(due) = entry.due {
            self.by_due.remove(&(due, entry.number));
        }
        let size = entry.task.size().saturating_add(entry.step_bytes);
        self.count(&entry.task.owner, size, 0);
        if let Some(owned) = self.by_owner.get_mut(&entry.task.owner) {
            owned.ids.remove(&entry.number);
            if owned.ids.is_empty() {
                self.by_owner.remove(&entry.task.owner);
            }
        }
        entry.changed.notify_waiters();
    }
}

// --- The operations that operators use, on tasks in memory.

impl MemoryTaskStore {
    fn list_all_now(&self, cursor: Option<&str>, max: usize) -> Option<TaskPage> {
        let after: u64 = cursor.map_or(Some(0), |cursor| cursor.parse().ok())?;
        let table = self.table();
        let entries = table.tasks.values().filter(|entry| entry.number > after);
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        let max = max.max(1);
        let has_more = entries.len() > max;
        entries.truncate(max);
        let last = entries.last().filter(|_| has_more);
        let next = last.map(|entry| entry.number.to_string());
        let tasks = entries.into_iter().map(|entry| entry.task.clone());
        Some(TaskPage::new(tasks.collect(), next))
    }

    fn inspect_now(&self, id: &TaskId) -> Option<TaskDetails> {
        let table = self.table();
        let entry = table.tasks.get(id)?;
        let due_in = entry
            .due
            .map(|due| due.saturating_duration_since(Instant::now()));
        let steps = entry.steps.iter();
        let steps = steps
            .map(|(name, result)| TaskStep::new(&**name, matches!(result, StepEntry::Done(_))));
        Some(TaskDetails::new(
            entry.task.clone(),
            due_in,
            steps.collect(),
        ))
    }

    fn retry_now(&self, id: &TaskId, version: u64, not_done: Option<&str>) -> TaskChanged {
        let table = &mut *self.table();
        let Some(entry) = table.tasks.get_mut(id) else {
            return TaskChanged::Unchanged;
        };
        if entry.task.version != version || !entry.task.can_be_retried() {
            return TaskChanged::Unchanged;
        }
        let before = entry.task.size().saturating_add(entry.step_bytes);
        entry.task.retry(SystemTime::now());
        if let Some(name) = not_done
            && let Some(StepEntry::Begun(_)) = entry.steps.get(name)
        {
            entry.steps.remove(name);
            entry.step_bytes = entry.step_bytes.saturating_sub(name.len());
        }
        let after = entry.task.size().saturating_add(entry.step_bytes);
        entry.changed.notify_waiters();
        let task = entry.task.clone();
        table.count(&task.owner, before, after);
        table.set_due(id, Some(Instant::now()));
        TaskChanged::Changed(task)
    }
}

// --- One attempt's access to the steps of its task.

/// The error for an attempt that is not the latest one.
const STALE: &str = "the task has ended or was claimed again";

impl MemoryTaskStore {
    /// Calls `work` with a task's entry if this attempt may still write.
    fn as_attempt<T>(
        &self,
        id: &TaskId,
        attempt: u64,
        work: impl FnOnce(&mut TaskEntry) -> T,
    ) -> Option<T> {
        let table = &mut *self.table();
        let entry = table.tasks.get_mut(id)?;
        let is_latest = entry.task.attempt == attempt && entry.task.status == TaskStatus::Working;
        is_latest.then(|| work(entry))
    }

    /// Like [`as_attempt`](Self::as_attempt), for work that adds at most `more` bytes to the steps.
    fn with_steps<T>(
        &self,
        (id, attempt, more): (&TaskId, u64, usize),
        work: impl FnOnce(&mut TaskEntry) -> T,
    ) -> Result<T, StoreRefusal> {
        let stale = || StoreRefusal::new(STALE);
        let table = &mut *self.table();
        let entry = table.tasks.get(id).ok_or_else(stale)?;
        if entry.task.attempt != attempt || entry.task.status != TaskStatus::Working {
            return Err(stale());
        }
        let owner = Arc::clone(&entry.task.owner);
        let has_room = table.has_room(&owner, more, &self.limits);
        let entry = table.tasks.get_mut(id).ok_or_else(stale)?;
        let before = entry.step_bytes;
        if !has_room && more > 0 {
            return Err(StoreRefusal::new("the task store is full"));
        }
        let done = work(entry);
        let after = entry.step_bytes;
        table.count(&owner, before, after);
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_contract::check_task_store;

    fn created(creation: TaskCreation) -> Option<StoredTask> {
        match creation {
            TaskCreation::Created(task) => Some(task),
            _ => None,
        }
    }

    fn changed(changed: TaskChanged) -> StoredTask {
        match changed {
            TaskChanged::Changed(task) => task,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the default limits with a change.
    fn limits(change: impl FnOnce(&mut TaskLimits)) -> TaskLimits {
        let mut limits = TaskLimits::default();
        change(&mut limits);
        limits
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_store_follows_the_rules_of_stores() {
        check_task_store(&MemoryTaskStore::default()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_store_is_bounded_and_expired_tasks_free_their_space() {
        let store = MemoryTaskStore::new(limits(|limits| {
            limits.max_tasks = 3;
            limits.max_per_caller = 2;
        }));
        let create = |owner: &str| store.create_now(&NewTask::new(owner, "tool")).unwrap();
        assert!(created(create("a")).is_some() && created(create("a")).is_some());
        assert!(matches!(create("a"), TaskCreation::CallerFull));
        assert!(created(create("b")).is_some());
        assert!(matches!(create("c"), TaskCreation::Full));
        tokio::time::advance(Duration::from_hours(1)).await;
        assert!(created(create("c")).is_some());
        let table = store.table();
        assert_eq!((table.tasks.len(), table.by_owner.len()), (1, 1));
        assert_eq!((table.by_expiry.len(), table.bytes), (1, "ctool".len()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_of_all_tasks_are_counted() {
        let store = MemoryTaskStore::new(limits(|limits| {
            limits.max_bytes = 105;
        }));
        let task = created(store.create_now(&NewTask::new("a", "tool")).unwrap()).unwrap();
        let state = |bytes: usize| TaskChange::to(TaskStatus::Working).state("x".repeat(bytes));
        let task = changed(store.change_now(&task.id, 1, state(60)));
        let full = store.change_now(&task.id, task.version, state(101));
        assert!(matches!(full, TaskChanged::Full));
        let step = store.begin_step(&task.id, 1, "step", ClaimId::random());
        let step = step.await.unwrap();
        assert_eq!(step, OnceClaim::Granted);
        let result = "r".repeat(40);
        let completed = store.complete_step(&task.id, 1, "step", &result).await;
        assert!(completed.is_err());
        let completed = store.complete_step(&task.id, 1, "step", "1").await;
        completed.unwrap();
        assert_eq!(store.table().bytes, 70);
        // A task that has ended no longer needs its steps.
        let done = TaskChange::to(TaskStatus::Cancelled);
        changed(store.change_now(&task.id, task.version, done));
        assert_eq!(store.table().bytes, 65);
        assert_eq!(store.delete_all("a").await.unwrap(), 1);
        assert_eq!(store.table().bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_call_of_a_task_counts_towards_the_bytes_until_the_task_ends() {
        let store = MemoryTaskStore::new(limits(|limits| {
            limits.max_bytes = 250;
            limits.max_bytes_per_caller = 150;
        }));
        let create = |owner: &str| {
            let mut task = NewTask::new(owner, "tool");
            task.call_bytes = 100;
            store.create_now(&task).unwrap()
        };
        let task = created(create("a")).unwrap();
        assert!(matches!(create("a"), TaskCreation::CallerFull));
        assert!(created(create("b")).is_some());
        assert!(matches!(create("c"), TaskCreation::Full));
        changed(store.change_now(&task.id, 1, TaskChange::to(TaskStatus::Cancelled)));
        assert_eq!(store.table().bytes, 110);
        assert!(created(create("c")).is_some());
    }
}
