//! A store for tests of servers that share one, and of stores that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::backend::{
    MemoryTaskStore, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskPage, TaskStore,
};
use mcp_runtime::once::{OnceClaim, StoreFuture};
use tokio::sync::Notify;

/// An in-memory store that servers can share, and for which some changes can be made to fail.
#[derive(Clone, Default)]
pub(super) struct TestStore {
    pub(super) store: Arc<MemoryTaskStore>,
    /// Number of upcoming changes that will fail.
    pub(super) failing: Arc<AtomicUsize>,
    /// `true` while leases can be neither claimed nor renewed.
    pub(super) without_leases: Arc<AtomicBool>,
    /// `true` if the store claims to outlive the process.
    pub(super) outlives: bool,
    /// Notified when a task is given back, if the store tells of it.
    pub(super) given_back: Option<Arc<Notify>>,
    /// The operation with which the process dies, if it does.
    pub(super) death: Arc<Death>,
}

/// The operation with which a process dies: none of its futures that wait for the operation ever continues.
#[derive(Default)]
pub(super) struct Death {
    /// Number of writing operations until then, including this one; zero for never.
    pub(super) at: AtomicUsize,
    /// `true` if the process dies only after the store has performed the operation.
    pub(super) is_after: AtomicBool,
    pub(super) has_died: AtomicBool,
}

impl TestStore {
    /// Performs a writing operation, unless the process dies with it.
    fn mortal<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let one_less = |left: usize| left.checked_sub(1);
            let death = &self.death;
            let before = death
                .at
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
            if before != Ok(1) {
                return operation().await;
            }
            if death.is_after.load(Ordering::SeqCst) {
                let _ = operation().await;
            }
            death.has_died.store(true, Ordering::SeqCst);
            std::future::pending().await
        })
    }
}

impl TaskStore for TestStore {
    fn outlives_process(&self) -> bool {
        self.outlives
    }
    fn released(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            match &self.given_back {
                Some(given_back) => given_back.notified().await,
                None => std::future::pending().await,
            }
            Ok(())
        })
    }
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        self.mortal(move || self.store.create(task))
    }
    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        self.store.load(id)
    }
    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        self.store.list(owner, cursor, max)
    }
    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        let one_less = |left: usize| left.checked_sub(1);
        let failing = self
            .failing
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        if failing.is_ok() {
            return Box::pin(async { Err("the store cannot be reached".into()) });
        }
        self.mortal(move || self.store.change(id, version, change))
    }
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        if self.without_leases.load(Ordering::SeqCst) {
            return Box::pin(async { Err("the store cannot be reached".into()) });
        }
        self.mortal(move || self.store.claim(id, lease))
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        if self.without_leases.load(Ordering::SeqCst) {
            return Box::pin(async { Err("the store cannot be reached".into()) });
        }
        self.mortal(move || self.store.renew(id, attempt, lease))
    }
    fn claim_due(&self, lease: Duration) -> StoreFuture<'_, TaskClaim> {
        self.store.claim_due(lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        if let Some(given_back) = &self.given_back {
            given_back.notify_one();
        }
        self.store.release(id, attempt, after)
    }
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        self.store.changed(id, version)
    }
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, OnceClaim> {
        self.mortal(move || self.store.begin_step(id, attempt, name))
    }
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.mortal(move || self.store.complete_step(id, attempt, name, result))
    }
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.mortal(move || self.store.abandon_step(id, attempt, name))
    }
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        self.store.delete_all(owner)
    }
    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        self.store.list_all(cursor, max)
    }
    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        self.store.inspect(id)
    }
    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        self.store.retry(id, version, not_done)
    }
}
