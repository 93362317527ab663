//! The results of `once` in a call that may outlive its request.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::context::{CallId, OnceClaim, OnceStore, StoreFuture};
use crate::extension::tasks::service::StoreError;
use crate::extension::tasks::task_steps::TaskSteps;

/// A call's steps, which are kept in memory while its request is waiting and in its task from then on.
pub(super) struct CallSteps(Mutex<StepPlace>);

enum StepPlace {
    /// The steps, keyed by name. A step without a result has begun but has not been completed.
    Call(BTreeMap<String, Option<String>>),
    Task(Arc<TaskSteps>),
}

impl Default for CallSteps {
    fn default() -> Self {
        Self(Mutex::new(StepPlace::Call(BTreeMap::new())))
    }
}

impl CallSteps {
    /// Moves all steps to a task, which keeps them from then on. No step begins or ends during the move. If the store
    /// fails, the steps remain here.
    pub(super) async fn move_to(&self, task: TaskSteps) -> Result<(), StoreError> {
        let place = &mut *self.0.lock().await;
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
        Ok(())
    }
}

impl OnceStore for CallSteps {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let task = match &mut *self.0.lock().await {
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
            let task = match &mut *self.0.lock().await {
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
            let task = match &mut *self.0.lock().await {
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
