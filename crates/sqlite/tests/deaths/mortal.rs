//! A store that kills its process at a seam: before or after one of its operations.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use mcp_runtime::backend::{
    ClaimExceptions, ClaimId, NewTask, OnceClaim, StoreFuture, StoredTask, TaskChange, TaskChanged,
    TaskClaim, TaskCreation, TaskDetails, TaskId, TaskPage, TaskStore,
};
use rustix::process::{Signal, getpid, kill_process};

use crate::server::append;
use crate::store::Store;

/// A store that writes the name of each seam to a file, and dies at one of them.
pub(crate) struct Mortal {
    store: Store,
    seams: PathBuf,
    death: Option<String>,
    /// Number of times that each operation was begun.
    begun: Mutex<HashMap<&'static str, usize>>,
}

impl Mortal {
    pub(crate) fn new(store: Store, seams: PathBuf, death: Option<String>) -> Self {
        let begun = Mutex::default();
        Self {
            store,
            seams,
            death,
            begun,
        }
    }

    /// Runs an operation between two seams. The seams' names contain the step, if any, or a number.
    fn seam<'a, T: 'a>(
        &'a self,
        operation: &'static str,
        step: Option<&'a str>,
        work: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        let name = if let Some(step) = step {
            format!("{operation} {step}")
        } else {
            let mut begun = self.begun.lock().unwrap();
            let number = begun.entry(operation).or_default();
            *number += 1;
            format!("{operation} {number}")
        };
        Box::pin(async move {
            self.pass(&format!("before {name}"));
            let done = work.await;
            self.pass(&format!("after {name}"));
            done
        })
    }

    fn pass(&self, seam: &str) {
        append(&self.seams, seam).unwrap();
        if self.death.as_deref() == Some(seam) {
            kill_process(getpid(), Signal::KILL).unwrap();
            // The signal arrives at some point before this returns.
            std::thread::park();
        }
    }
}

impl TaskStore for Mortal {
    fn outlives_process(&self) -> bool {
        true
    }
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        self.seam("create", None, self.store.create(task))
    }
    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        self.seam("load", None, self.store.load(id))
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
        self.seam("change", None, self.store.change(id, version, change))
    }
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        self.seam("claim", None, self.store.claim(id, lease))
    }
    // The number of unsuccessful calls depends on timing, so only the seam after a claim counts. A death before a claim
    // is a death after the preceding operation.
    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        Box::pin(async move {
            let claim = self.store.claim_due(lease, except).await?;
            if let TaskClaim::Claimed(_) = &claim {
                self.pass("after claim_due");
            }
            Ok(claim)
        })
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        self.store.renew(id, attempt, lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        self.seam("release", None, self.store.release(id, attempt, after))
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
        Box::pin(async move {
            self.pass(&format!("before begin {name}"));
            let claim = self.store.begin_step(id, attempt, name, claim).await;
            // From here on, only a step that was granted is in progress.
            let operation = match &claim {
                Ok(OnceClaim::Granted) => "begin",
                _ => "replay",
            };
            self.pass(&format!("after {operation} {name}"));
            claim
        })
    }
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        let done = self.store.complete_step(id, attempt, name, result);
        self.seam("complete", Some(name), done)
    }
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        self.seam(
            "abandon",
            Some(name),
            self.store.abandon_step(id, attempt, name, claim),
        )
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
