//! Seals the tasks in a store: their arguments, answers, results and step results.
//!
//! Names, times, statuses and messages are not sealed, so that stores and operators work without the keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use mcp_core::context::{ClaimId, OnceClaim, StoreFuture};
use mcp_core::error::BoxError;
use mcp_core::seal::{Seal, SealingKey, SealingKeys, hash};
use serde::{Deserialize, Serialize};

use crate::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskOutcome, TaskPage, TaskStatus, TaskStore,
};

/// A store in which the contents of tasks are sealed.
pub struct SealedTaskStore {
    store: Arc<dyn TaskStore>,
    seal: Seal,
    /// `true` once the stored tasks have been compared with the keys.
    has_been_checked: AtomicBool,
}

/// Text in its stored form. It is JSON, because result texts are JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedText {
    sealed: String,
}

/// The sealed parts of a task. Each is bound to its place, so that it cannot take the place of another.
#[derive(Clone, Copy)]
enum SealedPart<'a> {
    Call,
    State,
    Outcome,
    Step(&'a str),
}

impl SealedTaskStore {
    /// The first of these keys is used for sealing; any of them can open.
    pub fn new(store: Arc<dyn TaskStore>, keys: &[SealingKey]) -> Self {
        // A task lives as long as its store keeps it.
        let seal = Seal::new(SealingKeys::new(keys), Duration::MAX);
        Self {
            store,
            seal,
            has_been_checked: AtomicBool::new(false),
        }
    }

    /// Seals a string. An empty string stays empty, because stores check for it.
    fn sealed(&self, id: &TaskId, part: SealedPart<'_>, text: &str) -> Result<Arc<str>, BoxError> {
        if text.is_empty() {
            return Ok("".into());
        }
        let sealed = self
            .seal
            .seal_until(&binding(id, part), text.as_bytes(), Duration::MAX);
        let sealed = sealed.ok_or("a task cannot be sealed")?;
        Ok(serde_json::to_string(&SealedText { sealed })?.into())
    }

    /// Opens a string. A string that was stored before there were keys is not sealed.
    fn opened(&self, id: &TaskId, part: SealedPart<'_>, text: &str) -> Result<Arc<str>, BoxError> {
        let Ok(SealedText { sealed }) = serde_json::from_str(text) else {
            return Ok(text.into());
        };
        let opened = self.seal.open(&binding(id, part), &sealed, Duration::ZERO);
        let opened =
            opened.map_err(|_| "a task was sealed with a key that this server does not have")?;
        Ok(String::from_utf8(opened)?.into())
    }

    fn seal_outcome(&self, id: &TaskId, outcome: &mut TaskOutcome) -> Result<(), BoxError> {
        let (TaskOutcome::Result { json, .. } | TaskOutcome::Error { json }) = outcome;
        *json = self.sealed(id, SealedPart::Outcome, json)?;
        Ok(())
    }

    /// Opens a task. What needs a key that is missing stays sealed. If the task's status makes that part necessary, the
    /// task says so, because it can be listed and cancelled nevertheless, and other tasks must not suffer.
    fn open_task(&self, mut task: StoredTask) -> StoredTask {
        let is_open = |part, text: &mut Arc<str>| {
            let opened = self.opened(&task.id, part, text);
            opened.map(|opened| *text = opened).is_ok()
        };
        let (call, state) = (
            is_open(SealedPart::Call, &mut task.call),
            is_open(SealedPart::State, &mut task.state),
        );
        let outcome = match &mut task.outcome {
            Some(TaskOutcome::Result { json, .. } | TaskOutcome::Error { json }) => {
                is_open(SealedPart::Outcome, json)
            }
            None => true,
        };
        task.is_sealed = match task.status {
            TaskStatus::Working => !call || !state,
            TaskStatus::InputRequired => !state,
            // Final, whatever it is called.
            _ => !outcome,
        };
        task
    }

    fn open_changed(&self, changed: TaskChanged) -> TaskChanged {
        match changed {
            TaskChanged::Changed(task) => TaskChanged::Changed(self.open_task(task)),
            other => other,
        }
    }

    /// Logs a warning if the store has tasks that need a key that is missing.
    async fn warn_of_missing_keys(&self) -> Result<(), BoxError> {
        const PAGE: usize = 100;
        let (mut number, mut last) = (0_usize, None);
        let mut cursor = None;
        while let Some(page) = self.store.list_all(cursor.as_deref(), PAGE).await? {
            for task in page.tasks {
                let expires = task.created_at.checked_add(task.ttl);
                if self.open_task(task).is_sealed {
                    number = number.saturating_add(1);
                    last = last.max(expires);
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        if number > 0 {
            let left = last.and_then(|last| last.duration_since(SystemTime::now()).ok());
            tracing::warn!(
                tasks = number,
                expire_within = ?left.unwrap_or_default(),
                "stored tasks were sealed with a key that this server does not have; add the key to `sealing_keys`, at the \
                 end, until these tasks have expired"
            );
        }
        Ok(())
    }
}

/// Returns the value to which a part is bound.
fn binding(id: &TaskId, part: SealedPart<'_>) -> [u8; 32] {
    let (kind, name) = match part {
        SealedPart::Call => ("call", ""),
        SealedPart::State => ("state", ""),
        SealedPart::Outcome => ("outcome", ""),
        SealedPart::Step(name) => ("step", name),
    };
    hash(format!("mcp task {id} {kind} {name}").as_bytes())
}

impl TaskStore for SealedTaskStore {
    fn outlives_process(&self) -> bool {
        self.store.outlives_process()
    }

    fn released(&self) -> StoreFuture<'_, ()> {
        self.store.released()
    }

    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        Box::pin(async move {
            let mut sealed = task.clone();
            sealed.call = self.sealed(&task.id, SealedPart::Call, &task.call)?;
            sealed.state = self.sealed(&task.id, SealedPart::State, &task.state)?;
            match self.store.create(sealed).await? {
                TaskCreation::Created(stored) => Ok(TaskCreation::Created(self.open_task(stored))),
                other => Ok(other),
            }
        })
    }

    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move {
            let task = self.store.load(id).await?;
            Ok(task.map(|task| self.open_task(task)))
        })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        Box::pin(async move {
            let Some(page) = self.store.list(owner, cursor, max).await? else {
                return Ok(None);
            };
            let tasks = page.tasks.into_iter().map(|task| self.open_task(task));
            Ok(Some(TaskPage::new(tasks.collect(), page.next)))
        })
    }

    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        mut change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        Box::pin(async move {
            if let Some(state) = &mut change.state {
                *state = self.sealed(id, SealedPart::State, state)?;
            }
            if let Some(outcome) = &mut change.outcome {
                self.seal_outcome(id, outcome)?;
            }
            let changed = self.store.change(id, version, change).await?;
            Ok(self.open_changed(changed))
        })
    }

    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move {
            let claimed = self.store.claim(id, lease).await?;
            Ok(claimed.map(|task| self.open_task(task)))
        })
    }

    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        Box::pin(async move {
            // This is the first operation of a server that starts.
            if !self.has_been_checked.swap(true, Ordering::Relaxed)
                && let Err(error) = self.warn_of_missing_keys().await
            {
                self.has_been_checked.store(false, Ordering::Relaxed);
                tracing::debug!(%error, "the stored tasks cannot be compared with the sealing keys");
            }
            Ok(match self.store.claim_due(lease, except).await? {
                TaskClaim::Claimed(task) => TaskClaim::Claimed(self.open_task(task)),
                wait @ TaskClaim::Wait(_) => wait,
            })
        })
    }

    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        self.store.renew(id, attempt, lease)
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
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            Ok(
                match self.store.begin_step(id, attempt, name, claim).await? {
                    OnceClaim::Done(result) => OnceClaim::Done(
                        self.opened(id, SealedPart::Step(name), &result)?
                            .to_string(),
                    ),
                    other => other,
                },
            )
        })
    }

    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let result = self.sealed(id, SealedPart::Step(name), result)?;
            self.store.complete_step(id, attempt, name, &result).await
        })
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

    // Operators cannot see anything that is sealed.
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
        Box::pin(async move {
            let retried = self.store.retry(id, version, not_done).await?;
            Ok(self.open_changed(retried))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTaskStore;

    const LEASE: Duration = Duration::from_mins(1);

    fn sealed(store: &Arc<MemoryTaskStore>, keys: &[u8]) -> SealedTaskStore {
        let keys = keys.iter().map(|key| SealingKey::from_bytes([*key; 32]));
        let keys: Vec<_> = keys.collect();
        SealedTaskStore::new(Arc::<MemoryTaskStore>::clone(store), &keys)
    }

    /// Creates a task that has failed after a step.
    async fn failed(store: &dyn TaskStore) -> StoredTask {
        let mut new = NewTask::new("alice", "import");
        (new.call, new.state) = ("SECRET call".into(), "SECRET state".into());
        let TaskCreation::Created(task) = store.create(new).await.unwrap() else {
            panic!("there is room");
        };
        assert_eq!((&*task.call, &*task.state), ("SECRET call", "SECRET state"));
        let claim = ClaimId::from_bytes([1; 16]);
        let begun = store.begin_step(&task.id, 1, "pay", claim);
        begun.await.unwrap();
        let done = store.complete_step(&task.id, 1, "pay", "\"SECRET\"").await;
        done.unwrap();
        let json = r#"{"code":1,"message":"SECRET"}"#.into();
        let failed = TaskChange::to(TaskStatus::Failed).outcome(TaskOutcome::Error { json });
        let TaskChanged::Changed(task) = store.change(&task.id, 1, failed).await.unwrap() else {
            panic!("the version is current");
        };
        task
    }

    #[tokio::test(start_paused = true)]
    async fn a_sealed_store_follows_the_rules() {
        crate::task_contract::check_task_store(&sealed(&Arc::default(), &[1])).await;
    }

    #[tokio::test]
    async fn stored_tasks_cannot_be_read_without_the_sealing_key() {
        let memory = Arc::<MemoryTaskStore>::default();
        let store = sealed(&memory, &[1]);
        let task = failed(&store).await;
        let raw = memory.load(&task.id).await.unwrap().unwrap();
        assert!(!format!("{raw:?}").contains("SECRET"), "{raw:?}");
        assert!(raw.can_be_retried());
        let text = serde_json::from_str::<serde_json::Value>(&raw.call);
        assert!(text.unwrap()["sealed"].is_string());

        // After a new key has been added, the old key still opens the task; without the old key, nothing does.
        let rotated = sealed(&memory, &[2, 1]);
        let opened = rotated.load(&task.id).await.unwrap().unwrap();
        assert_eq!((&opened.call, &opened.outcome), (&task.call, &task.outcome));
        let other = sealed(&memory, &[2]);
        // The task can be listed and cancelled nevertheless.
        let found = other.load(&task.id).await.unwrap().unwrap();
        assert!(found.is_sealed && !opened.is_sealed);
        assert_eq!((found.status, &found.call), (TaskStatus::Failed, &raw.call));
        let readable = failed(&other).await;
        let page = other.list("alice", None, 9).await.unwrap().unwrap();
        let listed: Vec<_> = page.tasks.iter().map(|task| task.is_sealed).collect();
        assert_eq!(listed, [true, false]);
        assert_eq!(page.tasks[1].outcome, readable.outcome);

        let retried = rotated.retry(&task.id, task.version, None).await.unwrap();
        assert!(matches!(retried, TaskChanged::Changed(_)));
        // It is claimed and then fails, because its call cannot be read.
        let claimed = other.claim(&task.id, LEASE).await.unwrap().unwrap();
        assert!(claimed.is_sealed);
        assert_eq!(claimed.call, raw.call);
        let claim = ClaimId::from_bytes([2; 16]);
        assert!(other.begin_step(&task.id, 2, "pay", claim).await.is_err());
        let done = rotated.begin_step(&task.id, 2, "pay", claim);
        let done = done.await.unwrap();
        assert_eq!(done, OnceClaim::Done("\"SECRET\"".into()));
        let cancelled = TaskChange::to(TaskStatus::Cancelled).state("");
        let cancelled = other.change(&task.id, claimed.version, cancelled).await;
        let TaskChanged::Changed(cancelled) = cancelled.unwrap() else {
            panic!("the version is current");
        };
        assert!(!cancelled.is_sealed, "nothing is left that needs a key");
    }

    #[tokio::test]
    async fn sealed_texts_cannot_be_swapped_and_plain_ones_stay_readable() {
        let memory = Arc::<MemoryTaskStore>::default();
        let store = sealed(&memory, &[1]);
        let (one, other) = (failed(&store).await, failed(&store).await);
        let text = store.sealed(&one.id, SealedPart::Call, "x").unwrap();
        assert_eq!(
            &*store.opened(&one.id, SealedPart::Call, &text).unwrap(),
            "x"
        );
        for (id, part) in [
            (&other.id, SealedPart::Call),
            (&one.id, SealedPart::State),
            (&one.id, SealedPart::Outcome),
            (&one.id, SealedPart::Step("")),
        ] {
            assert!(store.opened(id, part, &text).is_err());
        }
        let plain = failed(&*memory).await;
        let found = store.load(&plain.id).await.unwrap().unwrap();
        assert_eq!((&found.call, &found.outcome), (&plain.call, &plain.outcome));
    }
}
