//! Reads and changes tasks in the store, and notifies their clients.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::backend::{StoredTask, TaskChange, TaskId, TaskStore};
use crate::context::{Caller, ServerHandle};
use crate::error::Error;
use crate::extension::tasks::local::LocalTasks;
use crate::extension::tasks::names::CHANGED;
use crate::extension::tasks::wire;
use crate::handler::handler_error::{HandlerError, Result};
use crate::limits::TaskLimits;
use crate::{ErrorKind, ErrorObject};

/// The tasks of a server.
pub(super) struct TaskService {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) limits: TaskLimits,
    /// Time that running tasks have to end once the server stops.
    pub(super) drain: Duration,
    /// Permits for tasks that run.
    pub(super) permits: Arc<Semaphore>,
    pub(super) local: LocalTasks,
}

impl TaskService {
    pub(super) fn new(store: Arc<dyn TaskStore>, limits: TaskLimits, drain: Duration) -> Self {
        let max = limits.max_running.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            store,
            limits,
            drain,
            permits: Arc::new(Semaphore::new(max)),
            local: LocalTasks::default(),
        }
    }

    /// Returns a task of this caller. An id that is unknown, belongs to another caller or has expired is the same error.
    pub(super) async fn find(&self, caller: &Caller, id: &str) -> Result<StoredTask> {
        let found = match TaskId::parse(id) {
            None => None,
            Some(id) => self.store.load(&id).await.map_err(unavailable)?,
        };
        found
            .filter(|task| *task.owner == *caller.key())
            .ok_or_else(|| refused("there is no task with this id"))
    }

    /// Changes a task as `change` says, with the latest version of the task; `None` leaves it as it is. Returns the
    /// changed task.
    pub(super) async fn change(
        &self,
        id: &TaskId,
        server: &ServerHandle,
        mut change: impl FnMut(&StoredTask) -> Option<TaskChange> + Send,
    ) -> Result<Option<StoredTask>> {
        loop {
            let Some(task) = self.store.load(id).await.map_err(unavailable)? else {
                return Ok(None);
            };
            let Some(change) = change(&task).filter(|_| !task.status.is_final()) else {
                return Ok(None);
            };
            let changed = self.store.change(id, task.version, change);
            if let Some(changed) = changed.await.map_err(unavailable)? {
                if changed.status.is_final() {
                    self.local.end(id);
                }
                announce(&changed, server);
                return Ok(Some(changed));
            }
        }
    }
}

/// Notifies the clients of 2026-07-28 that listen to a task.
fn announce(task: &StoredTask, server: &ServerHandle) {
    let notify = server.notify().for_key(Arc::clone(&task.owner));
    notify.extension_key(CHANGED, task.id.as_str(), wire::detailed_task(task));
}

/// Returns the error for parameters that do not fit the tasks of the caller.
pub(super) fn refused(text: impl Into<String>) -> HandlerError {
    HandlerError::protocol(ErrorObject::invalid_params(text))
}

/// Returns the error for a store that does not work.
#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(cause: Box<dyn std::error::Error + Send + Sync>) -> HandlerError {
    let cause = Error::new(ErrorKind::Io, format!("the store of tasks failed: {cause}"));
    HandlerError::opaque(cause)
}
