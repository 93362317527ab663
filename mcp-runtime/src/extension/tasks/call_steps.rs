//! The results of `once` in a call that may outlive its request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use crate::context::{CallId, OnceClaim, OnceStore, StoreFuture};
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
    /// The steps, keyed by name. A step without a result has begun but has not been completed.
    Call(BTreeMap<String, Option<String>>),
    Task(Arc<TaskSteps>),
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
        for (name, result) in steps {
            task.claim(name).await?;
            if let Some(result) = result {
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
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    return Ok(match steps.get(name) {
                        Some(Some(result)) => OnceClaim::Done(result.clone()),
                        Some(None) => OnceClaim::Taken,
                        None => {
                            steps.insert(name.to_owned(), None);
                            OnceClaim::Granted
                        }
                    });
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.begin(call, name).await
        })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    steps.insert(name.to_owned(), Some(result.to_owned()));
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.complete(call, name, result).await
        })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    steps.remove(name);
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.abandon(call, name).await
        })
    }
}
