//! A store for tests of servers that share one, and of stores that fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::backend::{
    ClaimExceptions, ClaimId, MemoryTaskStore, NewTask, OnceClaim, StoreFuture, StoredTask,
    TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskDetails, TaskId, TaskPage, TaskStore,
};
use tokio::sync::Notify;
use tokio::time::Instant;

/// An in-memory store that servers can share, and for which some changes can be made to fail.
#[derive(Clone, Default)]
pub(super) struct TestStore {
    pub(super) store: Arc<MemoryTaskStore>,
    /// Number of upcoming changes that will fail.
    pub(super) failing: Arc<AtomicUsize>,
    /// `true` while leases can be neither claimed nor renewed.
    pub(super) without_leases: Arc<AtomicBool>,
    /// `true` while no operation works.
    pub(super) is_down: Arc<AtomicBool>,
    /// Number of times that a task was read.
    pub(super) loads: Arc<AtomicUsize>,
    /// Number of times that a lease was renewed.
    pub(super) renewals: Arc<AtomicUsize>,
    /// `true` if the store claims to outlive the process.
    pub(super) outlives: bool,
    /// Notified when a task is given back, if the store tells of it.
    pub(super) given_back: Option<Arc<Notify>>,
    /// The operation with which the process dies, if it does.
    pub(super) death: Arc<Death>,
    /// The operation on steps for which the store is away, if it is.
    pub(super) away: Arc<Mutex<Option<Away>>>,
}

/// A store that is away for one of its operations.
pub(super) struct Away {
    pub(super) operation: &'static str,
    pub(super) fault: Fault,
    pub(super) until: Instant,
}

/// What happens to an operation while the store is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Fails,
    Hangs,
    LosesReplies,
}

impl Fault {
    pub(super) const ALL: [Self; 3] = [Self::Fails, Self::Hangs, Self::LosesReplies];

    /// Runs an operation on a store that is away.
    async fn run<'a, T>(
        self,
        operation: impl FnOnce() -> StoreFuture<'a, T>,
    ) -> Result<T, StoreError> {
        match self {
            Self::Fails => {}
            Self::Hangs => std::future::pending().await,
            Self::LosesReplies => drop(operation().await),
        }
        Err("the store cannot be reached".into())
    }
}

type StoreError = Box<dyn std::error::Error + Send + Sync>;

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
    /// Performs an operation, unless the store is down.
    fn up<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce() -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        if self.is_down.load(Ordering::SeqCst) {
            return Box::pin(async { Err("the store is down".into()) });
        }
        operation()
    }

    /// Performs an operation on a step, unless the store is away for it or the process dies with it.
    fn step<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        operation: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let fault = {
            let away = self.away.lock().unwrap();
            let away = away.as_ref();
            let away = away.filter(|away| away.operation == name && Instant::now() < away.until);
            away.map(|away| away.fault)
        };
        match fault {
            Some(fault) => Box::pin(fault.run(operation)),
            None => self.mortal(operation),
        }
    }

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
        self.loads.fetch_add(1, Ordering::SeqCst);
        self.up(|| self.store.load(id))
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
        self.up(|| self.mortal(move || self.store.change(id, version, change)))
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
        self.renewals.fetch_add(1, Ordering::SeqCst);
        self.up(|| self.mortal(move || self.store.renew(id, attempt, lease)))
    }
    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        self.up(|| self.store.claim_due(lease, except))
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        if let Some(given_back) = &self.given_back {
            given_back.notify_one();
        }
        self.store.release(id, attempt, after)
    }
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let changed = self.store.changed(id, version);
            // A store that goes down also ends what waits for changes.
            let goes_down = async {
                while !self.is_down.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::select! {
                changed = changed => changed,
                () = goes_down => Err("the store has gone down".into()),
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
        self.step("begin", move || {
            self.store.begin_step(id, attempt, name, claim)
        })
    }
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.step("complete", move || {
            self.store.complete_step(id, attempt, name, result)
        })
    }
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        self.step("abandon", move || {
            self.store.abandon_step(id, attempt, name, claim)
        })
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
