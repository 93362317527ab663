//! The `once` results in a task, which are stored with the task.

use std::sync::Arc;

use crate::context::{ClaimId, OnceClaim, OnceStore, OnceWork, StoreFuture};
use crate::extension::tasks::service::StoreError;
use crate::stores::{TaskId, TaskStore};

/// The steps of a single attempt, in the task's own journal.
pub(super) struct TaskSteps {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) id: TaskId,
    pub(super) attempt: u64,
}

impl TaskSteps {
    /// Claims a step that began before the task existed.
    pub(super) async fn claim(&self, name: &str, claim: ClaimId) -> Result<(), StoreError> {
        let claim = self.store.begin_step(&self.id, self.attempt, name, claim);
        claim.await.map(drop)
    }

    /// Records the result of a step that was completed before the task existed.
    pub(super) async fn record(&self, name: &str, result: &str) -> Result<(), StoreError> {
        let complete = self
            .store
            .complete_step(&self.id, self.attempt, name, result);
        complete.await
    }
}

impl OnceStore for TaskSteps {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        let OnceWork { name, claim, .. } = work;
        self.store.begin_step(&self.id, self.attempt, name, claim)
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.store
            .complete_step(&self.id, self.attempt, work.name, result)
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let OnceWork { name, claim, .. } = work;
        self.store.abandon_step(&self.id, self.attempt, name, claim)
    }
}
