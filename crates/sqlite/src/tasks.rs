//! Stores tasks in the file.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_core::context::{ClaimId, OnceClaim, StoreFuture, StoreRefusal};
use mcp_stores::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskPage, TaskStore,
};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::error::SqliteError;
use crate::{GROUPS, Sqlite, operators, statements};

/// Time after which a task is read again because another process may have changed it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Time between two attempts to withdraw a task.
const WITHDRAW_AGAIN: Duration = Duration::from_millis(250);
/// The error for an attempt that is not the latest attempt.
const STALE: &str = "the task has ended or was claimed again";
/// The error for a step for which there is no room.
const FULL: &str = "the task store is full";

impl Sqlite {
    /// Returns the `Notify` for a task, which is notified when the task changes and possibly when other tasks change.
    fn changes_of(&self, id: &TaskId) -> &Notify {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let group = usize::try_from(hasher.finish() % GROUPS as u64).unwrap_or_default();
        &self.0.changes[group]
    }

    /// Takes back a creation that has not been carried out in time, but may yet be. The writer runs operations in order, so
    /// this one is run after the creation. Tries until the task has expired.
    fn withdraw(&self, id: TaskId, ttl: Duration) {
        let store = self.clone();
        tokio::spawn(timeout(ttl, async move {
            loop {
                let key = id.clone();
                let withdrawn = store
                    .0
                    .writer
                    .record(move |db| statements::withdraw(db, &key));
                match withdrawn.await {
                    Ok(_) => return store.changes_of(&id).notify_waiters(),
                    Err(_) => sleep(WITHDRAW_AGAIN).await,
                }
            }
        }));
    }

    /// Returns the key of the caller whose due task this process claimed last.
    fn last_turn(&self) -> MutexGuard<'_, Arc<str>> {
        self.0
            .last_turn
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for Sqlite {
    fn outlives_process(&self) -> bool {
        true
    }

    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        let limits = self.0.options.limits.tasks.clone();
        let (id, ttl) = (task.id.clone(), task.ttl);
        let created = self
            .0
            .writer
            .write(move |db| statements::create(db, &task, &limits));
        Box::pin(async move {
            let created = created.await.inspect_err(|error| {
                let error = error.downcast_ref::<SqliteError>();
                if error.is_some_and(|error| error.is_outcome_unknown) {
                    self.withdraw(id, ttl);
                }
            })?;
            Ok(created.ok_or_else(|| SqliteError::text("the new task's id is already in use"))?)
        })
    }

    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        let id = id.clone();
        self.0
            .writer
            .read(move |db| Ok(statements::find(db, &id)?.map(|found| found.task)))
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let cursor = match cursor.map(TaskId::parse) {
            Some(None) => return Box::pin(async { Ok(None) }),
            cursor => cursor.flatten(),
        };
        let owner = owner.to_owned();
        self.0
            .writer
            .read(move |db| statements::list(db, &owner, cursor.as_ref(), max))
    }

    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        let limits = self.0.options.limits.tasks.clone();
        let key = id.clone();
        let changed = self
            .0
            .writer
            .write(move |db| statements::change(db, (&key, version), change.clone(), &limits));
        Box::pin(async move {
            let changed = changed.await?;
            self.changes_of(id).notify_waiters();
            Ok(changed)
        })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let key = id.clone();
        let claimed = self
            .0
            .writer
            .write(move |db| statements::claim(db, &key, lease));
        Box::pin(async move {
            let claimed = claimed.await?;
            self.changes_of(id).notify_waiters();
            Ok(claimed)
        })
    }

    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        let (last, except) = (self.last_turn().clone(), except.clone());
        let claimed = self
            .0
            .writer
            .write(move |db| statements::claim_due(db, lease, &last, &except));
        Box::pin(async move {
            let claimed = claimed.await?;
            if let TaskClaim::Claimed(task) = &claimed {
                *self.last_turn() = Arc::clone(&task.owner);
                self.changes_of(&task.id).notify_waiters();
            }
            Ok(claimed)
        })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        let id = id.clone();
        self.0
            .writer
            .write(move |db| statements::set_due(db, (&id, attempt), lease, false))
    }

    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        let id = id.clone();
        self.0
            .writer
            .write(move |db| statements::set_due(db, (&id, attempt), after, true).map(drop))
    }

    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            loop {
                let mut changed = std::pin::pin!(self.changes_of(id).notified());
                // From here on, changes are not missed.
                changed.as_mut().enable();
                let key = id.clone();
                let found = self.0.writer.read(move |db| statements::version(db, &key));
                let Some((now, left)) = found.await? else {
                    return Ok(());
                };
                if u64::try_from(now).ok() != Some(version) {
                    return Ok(());
                }
                let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
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
        let (id, name) = (id.clone(), name.to_owned());
        let limits = self.0.options.limits.tasks.clone();
        let claim = self
            .0
            .writer
            .write(move |db| statements::begin_step(db, (&id, attempt), (&name, run), &limits));
        Box::pin(async move {
            let claim = claim.await?.ok_or_else(|| StoreRefusal::new(STALE))?;
            Ok(claim.map_err(|()| StoreRefusal::new(FULL))?)
        })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let (id, name, result) = (id.clone(), name.to_owned(), result.to_owned());
        let limits = self.0.options.limits.tasks.clone();
        let done = self.0.writer.record(move |db| {
            statements::complete_step(db, (&id, attempt), (&name, &result), &limits)
        });
        Box::pin(async move {
            match done.await? {
                Some(true) => Ok(()),
                Some(false) => Err(StoreRefusal::new(FULL).into()),
                None => Err(StoreRefusal::new(STALE).into()),
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
        let (id, name) = (id.clone(), name.to_owned());
        self.0
            .writer
            .write(move |db| statements::abandon_step(db, (&id, attempt), (&name, run)))
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let owner = owner.to_owned();
        let deleted = self
            .0
            .writer
            .write(move |db| operators::delete_all(db, &owner));
        Box::pin(async move {
            let deleted = deleted.await?;
            for changes in &self.0.changes {
                changes.notify_waiters();
            }
            Ok(deleted)
        })
    }

    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        let Ok(after) = cursor.unwrap_or("0").parse() else {
            return Box::pin(async { Ok(None) });
        };
        self.0
            .writer
            .read(move |db| operators::list_all(db, after, max).map(Some))
    }

    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        let id = id.clone();
        self.0.writer.read(move |db| operators::inspect(db, &id))
    }

    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        let (key, not_done) = (id.clone(), not_done.map(str::to_owned));
        let retried = self
            .0
            .writer
            .write(move |db| operators::retry(db, (&key, version), not_done.as_deref()));
        Box::pin(async move {
            let retried = retried.await?;
            self.changes_of(id).notify_waiters();
            Ok(retried)
        })
    }
}
