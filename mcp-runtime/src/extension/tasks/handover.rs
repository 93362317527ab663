//! Turns a call into a task when its request has waited long enough. The call may already be running.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::extension::tasks::call_steps::CallSteps;
use crate::extension::tasks::latest_report::LatestReport;
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::run_queue::TaskPermit;
use crate::extension::tasks::service::{TaskService, unavailable};
use crate::extension::tasks::task_steps::TaskSteps;
use crate::handler::background::{AttachedFuture, WaitingRequest};
use crate::handler::handler_error::{HandlerError, Result};
use crate::stores::{NewTask, StoredTask, TaskChange, TaskStatus};

/// A run that began while its request was waiting.
pub(super) struct BegunRun {
    pub(super) running: AttachedFuture,
    pub(super) request: WaitingRequest,
    pub(super) reports: Arc<LatestReport>,
    /// The process's permit, once the run has one.
    pub(super) room: Option<TaskPermit>,
}

/// Everything that becomes part of the task.
pub(super) struct Handover {
    pub(super) task: NewTask,
    pub(super) local: LocalTask,
    pub(super) steps: Arc<CallSteps>,
    /// `None` if the call still waits for a permit of its tool.
    pub(super) begun: Option<BegunRun>,
}

impl TaskService {
    /// Turns a call into a task and continues its run. Returns the run if there is no room for the task.
    ///
    /// Once begun, this runs to its end even if the request is dropped. It ends either with a task that the request has
    /// learned of, or without a task.
    pub(super) async fn hand_over(
        self: &Arc<Self>,
        handover: Handover,
    ) -> Result<std::result::Result<StoredTask, Option<BegunRun>>> {
        let (sender, receiver) = oneshot::channel();
        let service = Arc::clone(self);
        let work = async move {
            let Handover {
                task,
                local,
                steps,
                begun,
            } = handover;
            match service.keep(task, &local, &steps).await {
                Ok(task) => {
                    if let Some(begun) = &begun {
                        begun.request.leave();
                    }
                    if sender.send(Ok(task.clone())).is_ok() {
                        service.start(task, local, begun);
                    } else {
                        // The run is cancelled like any call whose request is gone.
                        drop(begun);
                        service.discard(&task, &local).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        ?error,
                        "a call cannot go on in the background; its client waits for longer"
                    );
                    drop(sender.send(Err(begun)));
                }
            }
        };
        tokio::spawn(work.in_current_span());
        receiver.await.map_err(HandlerError::opaque)
    }

    /// Stores a task with the steps that its call has completed.
    async fn keep(
        self: &Arc<Self>,
        mut task: NewTask,
        local: &LocalTask,
        steps: &CallSteps,
    ) -> Result<StoredTask> {
        // Until the store has the steps, no other process may run the task, whatever happens to this one.
        task.lease = task.ttl;
        let task = self.add(task, local).await?;
        let own = TaskSteps {
            store: Arc::clone(&self.store),
            id: task.id.clone(),
            attempt: task.attempt,
        };
        let kept = async {
            steps.move_to(own).await?;
            self.store
                .renew(&task.id, task.attempt, self.limits.lease)
                .await
        };
        match kept.await {
            Ok(true) => Ok(task),
            Ok(false) => Err(HandlerError::opaque("a new task has lost its lease")),
            Err(error) => {
                self.discard(&task, local).await;
                Err(unavailable(error))
            }
        }
    }

    /// Ends a task that its client has not learned of.
    async fn discard(&self, task: &StoredTask, local: &LocalTask) {
        let discarded = self.change(&task.id, &local.server, |_| {
            Some(TaskChange::to(TaskStatus::Cancelled).state(""))
        });
        if let Err(error) = discarded.await {
            tracing::warn!(?error, "a task of which nobody knows cannot be cancelled");
        }
        self.local.end(&task.id, u64::MAX);
    }
}
