//! Turns a call into a task when its request has waited long enough. The call may already be running.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::extension::tasks::call_steps::CallSteps;
use crate::extension::tasks::latest_report::LatestReport;
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::run_queue::TaskPermit;
use crate::extension::tasks::running::AttemptStart;
use crate::extension::tasks::service::{TaskService, unavailable};
use crate::extension::tasks::task_steps::TaskSteps;
use crate::handler::background::{AttachedFuture, WaitingRequest};
use crate::handler::handler_error::{HandlerError, Result};
use crate::stores::{NewTask, StoredTask, TaskChange, TaskStatus};

/// A run that was started while its request was waiting.
pub(super) struct BegunRun {
    pub(super) running: AttachedFuture,
    pub(super) request: WaitingRequest,
    pub(super) reports: Arc<LatestReport>,
    /// The process's permit, once the run has obtained it.
    pub(super) room: Option<TaskPermit>,
}

/// The parts of a call that become part of the task.
pub(super) struct Handover {
    pub(super) task: NewTask,
    pub(super) local: LocalTask,
    pub(super) steps: Arc<CallSteps>,
    /// `None` if the call is still waiting for its tool's permit.
    pub(super) begun: Option<BegunRun>,
}

impl TaskService {
    /// Turns a call into a task and continues its run. Returns the run if there is no room for the task.
    ///
    /// Once started, this function runs to completion even if the request is dropped. At the end, either the request
    /// knows about the task or no task exists.
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
                        service.go_on_apart(task, local, begun);
                    } else {
                        // The run is cancelled like any call whose request has been dropped.
                        drop(begun);
                        service.discard(&task, &local).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        ?error,
                        "a call cannot continue in the background; its client has to wait longer"
                    );
                    drop(sender.send(Err(begun)));
                }
            }
        };
        tokio::spawn(work.in_current_span());
        receiver.await.map_err(HandlerError::opaque)
    }

    /// Continues a call whose request has been answered.
    fn go_on_apart(self: &Arc<Self>, task: StoredTask, local: LocalTask, begun: Option<BegunRun>) {
        match begun {
            Some(begun) => self.start(task, local, AttemptStart::Begun(begun)),
            // The call has waited for its tool, and does not hold a lease while it goes on waiting.
            None if self.store.outlives_process() => self.leave_waiting(task, local),
            None => self.start(task, local, AttemptStart::Queued),
        }
    }

    /// Stores a task with the steps that its call has completed.
    async fn keep(
        self: &Arc<Self>,
        mut task: NewTask,
        local: &LocalTask,
        steps: &CallSteps,
    ) -> Result<StoredTask> {
        // Until the store contains the steps, other processes must not run the task, even if this process dies.
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

    /// Ends a task that the client does not know about.
    async fn discard(&self, task: &StoredTask, local: &LocalTask) {
        let discarded = self.change(&task.id, &local.server, |_| {
            Some(TaskChange::to(TaskStatus::Cancelled).state(""))
        });
        if let Err(error) = discarded.await {
            tracing::warn!(
                ?error,
                "a task that was never reported to its client cannot be cancelled"
            );
        }
        self.local.end(&task.id, u64::MAX);
    }
}
