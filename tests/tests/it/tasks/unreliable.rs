//! Tasks over a store that does not work all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::backend::{
    MemoryTaskStore, NewTask, StoredTask, TaskChange, TaskChanged, TaskCreation, TaskId, TaskPage,
    TaskStore,
};
use mcp_runtime::once::{OnceClaim, StoreFuture};
use serde_json::json;
use tests::Version;
use tests::wait::until;

use super::{Bench, client_of, count, create, server, settled, text};

/// A store in memory, of which some changes fail or panic.
#[derive(Default)]
struct UnreliableStore {
    store: MemoryTaskStore,
    /// Number of changes that fail from now on.
    failing: Arc<AtomicUsize>,
}

impl TaskStore for UnreliableStore {
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
        self.store.claim(id, lease)
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        self.store.renew(id, attempt, lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64) -> StoreFuture<'a, ()> {
        self.store.release(id, attempt)
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

#[tokio::test(start_paused = true)]
async fn a_result_outlasts_a_store_that_cannot_be_reached_for_a_while() {
    for version in Version::ERAS {
        let store = UnreliableStore::default();
        let failing = Arc::clone(&store.failing);
        let server = server(&Bench::default()).task_store(store);
        let mut client = client_of(server, version).await;
        failing.store(5, Ordering::SeqCst);
        let task = create(&mut client, "end", json!({"how": "well"})).await;
        until(async || count(&failing) == 0).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        if version.is_modern() {
            assert_eq!(text(&ended["result"]), "well");
        }
    }
}
