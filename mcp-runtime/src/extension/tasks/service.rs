//! Reads and changes tasks in the store and notifies their clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::Instrument as _;

use crate::context::{Context, ServerHandle};
use crate::error::Error;
use crate::extension::tasks::local::LocalTasks;
use crate::extension::tasks::names::CHANGED;
use crate::extension::tasks::run_queue::RunQueue;
use crate::extension::tasks::wire;
use crate::handler::handler_error::{HandlerError, Result};
use crate::limits::TaskLimits;
use crate::stores::{
    StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus, TaskStore,
};
use crate::telemetry::TaskMetrics;
use crate::{ErrorKind, ErrorObject};

/// The error from a failed store operation.
pub(super) type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// A server's tasks.
pub(super) struct TaskService {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) limits: TaskLimits,
    /// Time within which running tasks must end once the server stops.
    pub(super) drain: Duration,
    /// Permits for running tasks.
    pub(super) queue: RunQueue,
    pub(super) local: LocalTasks,
    pub(super) metrics: TaskMetrics,
    /// Notified when a task may have become due in a store that outlives the process.
    pub(super) due: Notify,
    /// `true` if this process's tasks are forgotten when the server ends.
    ends_with_server: AtomicBool,
}

/// Forgets this process's tasks when dropped. Otherwise, the tasks and the server would keep each other alive.
struct ForgetTasks(Arc<TaskService>);

impl Drop for ForgetTasks {
    fn drop(&mut self) {
        self.0.local.end_all();
    }
}

impl TaskService {
    pub(super) fn new(store: Arc<dyn TaskStore>, limits: TaskLimits, drain: Duration) -> Self {
        Self {
            store,
            queue: RunQueue::new(limits.max_running),
            limits,
            drain,
            local: LocalTasks::default(),
            metrics: TaskMetrics::default(),
            due: Notify::new(),
            ends_with_server: AtomicBool::new(false),
        }
    }

    /// Ensures that this process's tasks are forgotten when the server ends.
    pub(super) fn end_with(self: &Arc<Self>, server: &ServerHandle) {
        if self.ends_with_server.swap(true, Ordering::Relaxed) {
            return;
        }
        server
            .0
            .keep_until_end(Box::new(ForgetTasks(Arc::clone(self))));
    }

    /// Returns one of this caller's tasks, like [`look_up`](Self::look_up). The error is the same for every id for which
    /// that returns `None`.
    pub(super) async fn find(&self, context: &Context, id: &str) -> Result<StoredTask> {
        let found = self.look_up(context, id).await?;
        found.ok_or_else(no_such_task)
    }

    /// Returns one of this caller's tasks, or `None` if the id is unknown, belongs to another caller or has expired, or
    /// if the caller cannot see the task's tool.
    ///
    /// # Errors
    ///
    /// Fails if the request lacks scopes that the task's tool requires.
    pub(super) async fn look_up(&self, context: &Context, id: &str) -> Result<Option<StoredTask>> {
        let found = match TaskId::parse(id) {
            None => None,
            Some(id) => self.store.load(&id).await.map_err(unavailable)?,
        };
        match found {
            Some(task) if may_reach(&task, context)? => Ok(Some(task)),
            _ => Ok(None),
        }
    }

    /// Changes a task as decided by `change`, which receives the task's latest version; `None` leaves the task
    /// unchanged.
    pub(super) async fn change(
        &self,
        id: &TaskId,
        server: &ServerHandle,
        mut change: impl FnMut(&StoredTask) -> Option<TaskChange> + Send,
    ) -> Result<TaskChanged> {
        loop {
            let Some(task) = self.store.load(id).await.map_err(unavailable)? else {
                return Ok(TaskChanged::Unchanged);
            };
            let Some(change) = change(&task).filter(|_| !task.status.is_final()) else {
                return Ok(TaskChanged::Unchanged);
            };
            let changed = self.store.change(id, task.version, change);
            match changed.await.map_err(unavailable)? {
                TaskChanged::Changed(changed) => {
                    // A parked task does not use any memory if the store contains its call.
                    let is_parked = changed.status == TaskStatus::InputRequired
                        && self.store.outlives_process();
                    if is_parked || changed.status.is_final() {
                        self.local.end(id, changed.attempt);
                    }
                    if let Some(outcome) = outcome_label(&changed) {
                        TaskMetrics::count_ended(&changed.tool, outcome);
                    }
                    announce(&changed, server);
                    return Ok(TaskChanged::Changed(changed));
                }
                // The task now has a new version, or a new status that `change` will see.
                TaskChanged::Unchanged => {}
                TaskChanged::Full => return Ok(TaskChanged::Full),
            }
        }
    }
}

/// Returns the label that metrics use for how a task has ended.
const fn outcome_label(task: &StoredTask) -> Option<&'static str> {
    match (task.status, &task.outcome) {
        (TaskStatus::Completed, Some(TaskOutcome::Result { is_error: true, .. })) => {
            Some("tool_error")
        }
        (TaskStatus::Completed, _) => Some("ok"),
        (TaskStatus::Failed, _) => Some("error"),
        (TaskStatus::Cancelled, _) => Some("cancelled"),
        _ => None,
    }
}

/// Decides whether a request may reach a task: it is its caller's, and the caller may use its tool. Returns `false` if the
/// request must be answered as if there were no such task.
///
/// # Errors
///
/// Fails if the request lacks scopes that the task's tool requires.
pub(super) fn may_reach(task: &StoredTask, context: &Context) -> Result<bool> {
    let caller = context.caller();
    if *task.owner != *caller.key() {
        return Ok(false);
    }
    context.server().may_reach_work_of(&task.tool, caller)
}

/// Notifies the clients that use 2026-07-28, are listening to a task and may still reach it.
fn announce(task: &StoredTask, server: &ServerHandle) {
    let notify = server.notify();
    if !notify.has_listeners(CHANGED, Some(task.id.as_str())) {
        return;
    }
    let (owner, tool, control) = (
        Arc::clone(&task.owner),
        Arc::clone(&task.tool),
        server.clone(),
    );
    let notify = notify.for_callers(move |caller| {
        *caller.key() == *owner && matches!(control.may_reach_work_of(&tool, caller), Ok(true))
    });
    notify.extension_key(CHANGED, task.id.as_str(), wire::detailed_task(task));
}

/// Returns the error for an id with which the caller can reach no task.
pub(super) fn no_such_task() -> HandlerError {
    refused("no task has this id")
}

/// Returns the error for parameters that do not match the caller's tasks.
pub(super) fn refused(text: impl Into<String>) -> HandlerError {
    HandlerError::protocol(ErrorObject::invalid_params(text))
}

/// Returns the error for a failed store operation.
#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(cause: StoreError) -> HandlerError {
    let cause = Error::new(ErrorKind::Io, format!("the task store failed: {cause}"));
    HandlerError::opaque(cause)
}

/// Runs work to completion, even if the request that is waiting for it is dropped.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let ended = tokio::spawn(work.in_current_span()).await;
    ended.unwrap_or_else(|error| Err(HandlerError::opaque(error)))
}
