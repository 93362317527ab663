//! A store for tests of servers that share one, and of stores that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::backend::{
    MemoryTaskStore, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskId,
    TaskPage, TaskStore,
};
use mcp_runtime::once::{OnceClaim, StoreFuture};

/// A store in memory that servers can share, and of which some changes can fail.
#[derive(Clone, Default)]
pub(super) struct TestStore {
    pub(super) store: Arc<MemoryTaskStore>,
    /// Number of changes that fail from now on.
    pub(super) failing: Arc<AtomicUsize>,
    /// `true` while leases can be neither claimed nor renewed.
    pub(super) without_leases: Arc<AtomicBool>,
    /// `true` if it claims to outlive the process.
    pub(super) outlives: bool,
}

impl TaskStore for TestStore {
    fn outlives_process(&self) -> bool {
        self.outlives
    }
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        self.store.create(task)
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
        self.store.change(id, version, change)
    }
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        if self.without_leases.load(Ordering::SeqCst) {
            return Box::pin(async { Err("the store cannot be reached".into()) });
        }
        self.store.claim(id, lease)
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        if self.without_leases.load(Ordering::SeqCst) {
            return Box::pin(async { Err("the store cannot be reached".into()) });
        }
        self.store.renew(id, attempt, lease)
    }
    fn claim_due(&self, lease: Duration) -> StoreFuture<'_, TaskClaim> {
        self.store.claim_due(lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
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
        self.store.begin_step(id, attempt, name)
    }
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.store.complete_step(id, attempt, name, result)
    }
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.store.abandon_step(id, attempt, name)
    }
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        self.store.delete_all(owner)
    }
}
