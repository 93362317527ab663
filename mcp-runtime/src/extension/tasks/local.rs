//! The tasks whose calls this process has.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::time::Instant;

use crate::cancellation::CancellationToken;
use crate::context::ServerHandle;
use crate::extension::BackgroundCall;
use crate::lock::lock;
use crate::stores::{ExpiryOrder, TaskId};

/// A task whose call this process has.
#[derive(Clone, Debug)]
pub(super) struct LocalTask {
    pub(super) call: BackgroundCall,
    pub(super) server: ServerHandle,
    /// The attempt with which this process acquired the task, or zero while the task waits in the store for a process
    /// that has room.
    pub(super) attempt: u64,
    /// The end of the task's time to live.
    pub(super) expires: Instant,
    pub(super) cancel: CancellationToken,
}

/// The tasks whose calls this process has, except those whose time to live has expired.
#[derive(Debug, Default)]
pub(super) struct LocalTasks(Mutex<LocalTable>);

#[derive(Debug, Default)]
struct LocalTable {
    tasks: HashMap<TaskId, LocalTask>,
    by_expiry: ExpiryOrder<TaskId>,
    /// `true` once the server has ended.
    is_closed: bool,
}

impl LocalTasks {
    /// Adds a task and forgets those whose time to live has expired. Returns `false` once the server has ended.
    pub(super) fn insert(&self, id: &TaskId, task: LocalTask) -> bool {
        let table = &mut *lock(&self.0);
        if table.is_closed {
            return false;
        }
        let now = Instant::now();
        while let Some(id) = table.by_expiry.pop_expired(now) {
            table.tasks.remove(&id);
        }
        // The entry is from an earlier attempt by this process, which another process has interrupted, or is that of a
        // waiting task.
        if let Some(earlier) = table.tasks.remove(id) {
            table.by_expiry.remove(earlier.expires, id);
            earlier.cancel.cancel();
        }
        table.by_expiry.insert(task.expires, id.clone());
        table.tasks.insert(id.clone(), task);
        true
    }

    pub(super) fn get(&self, id: &TaskId) -> Option<LocalTask> {
        lock(&self.0).tasks.get(id).cloned()
    }

    /// Returns the tasks that this process has acquired.
    pub(super) fn acquired(&self) -> Vec<TaskId> {
        let table = lock(&self.0);
        let tasks = table.tasks.iter().filter(|(_, task)| task.attempt > 0);
        tasks.map(|(id, _)| id.clone()).collect()
    }

    /// Forgets all tasks, cancels their runs, and does not accept any further tasks.
    pub(super) fn end_all(&self) {
        let closed = LocalTable {
            is_closed: true,
            ..LocalTable::default()
        };
        let table = std::mem::replace(&mut *lock(&self.0), closed);
        for task in table.tasks.values() {
            task.cancel.cancel();
        }
    }

    /// Forgets a task that has ended or that this process no longer holds, and cancels its run. Does nothing if the
    /// process has acquired the task again in a later attempt.
    pub(super) fn end(&self, id: &TaskId, attempt: u64) {
        let table = &mut *lock(&self.0);
        if table
            .tasks
            .get(id)
            .is_some_and(|task| task.attempt <= attempt)
            && let Some(task) = table.tasks.remove(id)
        {
            table.by_expiry.remove(task.expires, id);
            task.cancel.cancel();
        }
    }
}
