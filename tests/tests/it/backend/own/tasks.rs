//! Tasks as rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_runtime::backend::{
    ClaimExceptions, ClaimId, NewTask, OnceClaim, StoreFuture, StoreRefusal, StoredTask,
    TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskDetails, TaskId, TaskPage, TaskStatus,
    TaskStep, TaskStore,
};
use tokio::time::{Instant, timeout_at};

use super::{Rows, StepRow, Tables, TaskRow};

/// Returns the error for an attempt that has been superseded by another.
fn stale() -> StoreRefusal {
    StoreRefusal::new("another attempt has the task")
}

impl Tables {
    /// Begins a new attempt if the task is due.
    fn claim(&mut self, id: &str, lease: Duration) -> Option<StoredTask> {
        let now = Instant::now();
        let row = self.tasks.get_mut(id)?;
        row.due.filter(|due| *due <= now)?;
        row.due = Some(now + lease);
        row.task.begin_attempt();
        Some(row.task.clone())
    }

    /// Returns the row of a working task if this is its latest attempt.
    fn latest(&mut self, id: &TaskId, attempt: u64) -> Option<&mut TaskRow> {
        let row = self.tasks.get_mut(id.as_str())?;
        let is_latest = row.task.attempt == attempt && row.task.status == TaskStatus::Working;
        is_latest.then_some(row)
    }
}

impl TaskStore for Rows {
    fn outlives_process(&self) -> bool {
        true
    }

    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        let mut tables = self.tables();
        let id = task.id.to_string();
        if let Some(known) = tables.tasks.get(&id).map(|row| &row.task) {
            if known.owner != task.owner {
                return Box::pin(async { Err("the id is in use".into()) });
            }
            // The first reply was lost.
            let created = StoredTask::created(&task, known.created_at);
            return Box::pin(async { Ok(TaskCreation::Created(created)) });
        }
        let now = Instant::now();
        tables.created += 1;
        let row = TaskRow {
            task: StoredTask::created(&task, SystemTime::now()),
            number: tables.created,
            due: Some(now + task.lease),
            expires: now + task.ttl,
            steps: BTreeMap::new(),
        };
        let stored = row.task.clone();
        tables.tasks.insert(id, row);
        Box::pin(async { Ok(TaskCreation::Created(stored)) })
    }

    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        let tables = self.tables();
        let task = tables.tasks.get(id.as_str()).map(|row| row.task.clone());
        Box::pin(async { Ok(task) })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let tables = self.tables();
        let after = match cursor.map(|cursor| tables.tasks.get(cursor)) {
            None => 0,
            Some(Some(row)) if *row.task.owner == *owner => row.number,
            Some(_) => return Box::pin(async { Ok(None) }),
        };
        let rows = tables.tasks.values();
        let rows = rows.filter(|row| *row.task.owner == *owner && row.number > after);
        let mut rows: Vec<_> = rows.map(|row| (row.number, row.task.clone())).collect();
        rows.sort_by_key(|(number, _)| *number);
        let has_more = rows.len() > max;
        rows.truncate(max);
        let last = rows.last().map(|(_, task)| task.id.to_string());
        let tasks = rows.into_iter().map(|(_, task)| task).collect();
        let page = TaskPage::new(tasks, last.filter(|_| has_more));
        Box::pin(async { Ok(Some(page)) })
    }

    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        let mut tables = self.tables();
        let row = tables.tasks.get_mut(id.as_str());
        let row = row.filter(|row| row.task.version == version && !row.task.status.is_final());
        let changed = match row {
            None => TaskChanged::Unchanged,
            Some(row) => {
                row.task.apply(change, SystemTime::now());
                row.due = match row.task.status {
                    TaskStatus::Working => row.due.or(Some(Instant::now())),
                    _ => None,
                };
                if row.task.status.is_final() && !row.task.can_be_retried() {
                    row.steps.clear();
                }
                TaskChanged::Changed(row.task.clone())
            }
        };
        self.changes.send_replace(());
        Box::pin(async { Ok(changed) })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let claimed = self.tables().claim(id.as_str(), lease);
        self.changes.send_replace(());
        Box::pin(async { Ok(claimed) })
    }

    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        let mut tables = self.tables();
        let now = Instant::now();
        let rows = tables.tasks.values();
        let rows = rows.filter(|row| row.due.is_some_and(|due| due <= now));
        let rows = rows.filter(|row| !except.contains(&row.task));
        // The callers take turns in the order of their keys.
        let last = &tables.last_owner;
        let next = rows.min_by_key(|row| {
            let owner = row.task.owner.clone();
            (owner <= *last, owner, row.due)
        });
        let claim = if let Some(next) = next.map(|row| row.task.clone()) {
            tables.last_owner = Arc::clone(&next.owner);
            let claimed = tables.claim(next.id.as_str(), lease);
            claimed.map_or(TaskClaim::Wait(Some(Duration::ZERO)), TaskClaim::Claimed)
        } else {
            let due = tables.tasks.values().filter_map(|row| row.due);
            let next = due.filter(|due| *due > now).min();
            TaskClaim::Wait(next.map(|due| due - now))
        };
        self.changes.send_replace(());
        Box::pin(async { Ok(claim) })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        let mut tables = self.tables();
        let row = tables.latest(id, attempt);
        let renewed = row.map(|row| row.due = Some(Instant::now() + lease));
        Box::pin(async move { Ok(renewed.is_some()) })
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        if let Some(row) = self.tables().latest(id, attempt) {
            row.due = Some(Instant::now() + after);
            row.task.tries = row.task.tries.saturating_sub(1);
        }
        Box::pin(async { Ok(()) })
    }

    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut changes = self.changes.subscribe();
            loop {
                let expires = match self.tables().tasks.get(id.as_str()) {
                    Some(row) if row.task.version == version => row.expires,
                    _ => return Ok(()),
                };
                let _ = timeout_at(expires, changes.changed()).await;
            }
        })
    }

    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        let mut tables = self.tables();
        let row = tables.latest(id, attempt).ok_or_else(stale);
        let begun = row.map(|row| {
            if let Some(step) = row.steps.get(name) {
                match &step.result {
                    Some(result) => OnceClaim::Done(result.clone()),
                    None if step.claim == claim => OnceClaim::Granted,
                    None => OnceClaim::Taken(String::new()),
                }
            } else {
                let result = None;
                row.steps.insert(name.to_owned(), StepRow { claim, result });
                OnceClaim::Granted
            }
        });
        Box::pin(async move { Ok(begun?) })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let row = tables.latest(id, attempt).ok_or_else(stale);
        let done = row.map(|row| {
            if let Some(step) = row.steps.get_mut(name)
                && step.result.is_none()
            {
                step.result = Some(result.to_owned());
                row.task.step_completed();
            }
        });
        Box::pin(async move { Ok(done?) })
    }

    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        if let Some(row) = self.tables().latest(id, attempt) {
            row.steps
                .retain(|of, step| of != name || step.result.is_some() || step.claim != claim);
        }
        Box::pin(async { Ok(()) })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let mut tables = self.tables();
        let before = tables.tasks.len();
        tables.tasks.retain(|_, row| *row.task.owner != *owner);
        let deleted = before - tables.tasks.len();
        self.changes.send_replace(());
        Box::pin(async move { Ok(deleted) })
    }

    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let Ok(after) = cursor.unwrap_or("0").parse() else {
            return Box::pin(async { Ok(None) });
        };
        let tables = self.tables();
        let mut rows: Vec<_> = tables.tasks.values().collect();
        rows.retain(|row| row.number > after);
        rows.sort_by_key(|row| row.number);
        let has_more = rows.len() > max;
        rows.truncate(max);
        let last = rows.last().map(|row| row.number.to_string());
        let tasks = rows.into_iter().map(|row| row.task.clone()).collect();
        let page = TaskPage::new(tasks, last.filter(|_| has_more));
        Box::pin(async { Ok(Some(page)) })
    }

    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        let tables = self.tables();
        let details = tables.tasks.get(id.as_str()).map(|row| {
            let due_in = row.due.map(|due| due - Instant::now());
            let steps = row.steps.iter();
            let steps = steps.map(|(name, step)| TaskStep::new(name, step.result.is_some()));
            TaskDetails::new(row.task.clone(), due_in, steps.collect())
        });
        Box::pin(async { Ok(details) })
    }

    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        let mut tables = self.tables();
        let row = tables.tasks.get_mut(id.as_str());
        let row = row.filter(|row| row.task.version == version && row.task.can_be_retried());
        let retried = match row {
            None => TaskChanged::Unchanged,
            Some(row) => {
                row.task.retry(SystemTime::now());
                row.due = Some(Instant::now());
                row.steps
                    .retain(|name, step| step.result.is_some() || Some(&**name) != not_done);
                TaskChanged::Changed(row.task.clone())
            }
        };
        self.changes.send_replace(());
        Box::pin(async { Ok(retried) })
    }
}
