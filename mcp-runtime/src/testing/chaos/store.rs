//! A task store that outlives simulated processes, with a point before and after each operation that changes a task.

use std::sync::Arc;
use std::time::Duration;

use super::history::CallHistory;
use crate::context::{ClaimId, OnceClaim, StoreFuture};
use crate::stores::{
    ClaimExceptions, MemoryTaskStore, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim,
    TaskCreation, TaskDetails, TaskId, TaskPage, TaskStore,
};

/// A store whose operations are points at which processes can die. Operations inside steps are not points, because the
/// handler's own points cover steps. Reads are not points either, because they do not change anything.
pub(super) struct SurvivingTaskStore {
    store: MemoryTaskStore,
    history: Arc<CallHistory>,
}

impl SurvivingTaskStore {
    pub(super) fn new(history: &Arc<CallHistory>) -> Self {
        Self {
            store: MemoryTaskStore::default(),
            history: Arc::clone(history),
        }
    }

    fn between<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            self.history
                .pass(&format!("before the store {operation}"))
                .await;
            let done = work.await;
            self.history
                .pass(&format!("after the store {operation}"))
                .await;
            done
        })
    }
}

impl TaskStore for SurvivingTaskStore {
    fn outlives_process(&self) -> bool {
        true
    }
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        // The in-memory store acts when it is called, not when its future is polled.
        let work = Box::pin(async move { self.store.create(task).await });
        self.between("creates the task", work)
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
        let work = Box::pin(async move { self.store.change(id, version, change).await });
        self.between("changes the task", work)
    }
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let work = Box::pin(async move { self.store.claim(id, lease).await });
        self.between("lets a process claim the task", work)
    }
    // Only a successful claim is a point, because the number of unsuccessful claims depends on time.
    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        Box::pin(async move {
            let claim = self.store.claim_due(lease, except).await?;
            if let TaskClaim::Claimed(_) = &claim {
                self.history.pass("after it has claimed the task").await;
            }
            Ok(claim)
        })
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        self.store.renew(id, attempt, lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        let work = Box::pin(async move { self.store.release(id, attempt, after).await });
        self.between("releases the task's lease", work)
    }
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        self.store.changed(id, version)
    }
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        self.store.begin_step(id, attempt, name, claim)
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
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        self.store.abandon_step(id, attempt, name, claim)
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
