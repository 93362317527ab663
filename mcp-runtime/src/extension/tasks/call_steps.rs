//! The results of `once` in a call that may outlive its request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use crate::context::{ClaimId, OnceClaim, OnceStore, OnceWork, StoreFuture};
use crate::extension::tasks::service::StoreError;
use crate::extension::tasks::task_steps::TaskSteps;
use crate::handler::background::OwnSteps;

/// A call's steps, which are kept in memory while its request is waiting and in its task from then on.
pub(super) struct CallSteps {
    place: Mutex<StepPlace>,
    is_first: bool,
    suffice: Arc<AtomicBool>,
}

enum StepPlace {
    /// The steps, keyed by name.
    Call(BTreeMap<String, CallStep>),
    Task(Arc<TaskSteps>),
}

/// A step. Without a result, it has begun but has not been completed.
struct CallStep {
    claim: ClaimId,
    result: Option<String>,
}

impl CallSteps {
    /// Creates the steps for a call in its first request or in a later round. While the request is waiting, its client
    /// may receive a state if it `can_receive_state`; the server's store must then contain the steps as well.
    pub(super) fn new(is_first: bool, can_receive_state: bool) -> Self {
        Self {
            place: Mutex::new(StepPlace::Call(BTreeMap::new())),
            is_first,
            suffice: Arc::new(AtomicBool::new(is_first && !can_receive_state)),
        }
    }

    /// Returns `true` if the call is in its first request.
    pub(super) const fn is_first(&self) -> bool {
        self.is_first
    }

    /// Returns these steps as the store for a run.
    pub(super) fn for_run(self: &Arc<Self>) -> OwnSteps {
        OwnSteps {
            store: Arc::<Self>::clone(self),
            suffice: Arc::clone(&self.suffice),
        }
    }

    /// Moves all steps to a task, which keeps them from then on. No step begins or ends during the move. If the store
    /// fails, the steps remain here.
    pub(super) async fn move_to(&self, task: TaskSteps) -> Result<(), StoreError> {
        let place = &mut *self.place.lock().await;
        let StepPlace::Call(steps) = place else {
            return Err("the steps have already been moved".into());
        };
        for (name, step) in steps {
            task.claim(name, step.claim).await?;
            if let Some(result) = &step.result {
                task.record(name, result).await?;
            }
        }
        *place = StepPlace::Task(Arc::new(task));
        // The request no longer waits, so its client will not receive a state.
        self.suffice.store(self.is_first, Ordering::Release);
        Ok(())
    }
}

impl OnceStore for CallSteps {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let known = steps.get(work.name);
                    return Ok(match known.map(|step| (&step.result, step.claim)) {
                        Some((Some(result), _)) => OnceClaim::Done(result.clone()),
                        Some((None, claim)) if claim != work.claim => {
                            OnceClaim::Taken(String::new())
                        }
                        Some((None, _)) => OnceClaim::Granted,
                        None => {
                            let (claim, result) = (work.claim, None);
                            steps.insert(work.name.to_owned(), CallStep { claim, result });
                            OnceClaim::Granted
                        }
                    });
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.begin(work).await
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let (claim, result) = (work.claim, Some(result.to_owned()));
                    steps.insert(work.name.to_owned(), CallStep { claim, result });
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.complete(work, result).await
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let known = steps.get(work.name);
                    if known.is_some_and(|step| step.claim == work.claim) {
                        steps.remove(work.name);
                    }
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.abandon(work).await
        })
    }
}
