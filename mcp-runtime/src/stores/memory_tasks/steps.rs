//! One attempt's access to the steps of its task.

use std::sync::Arc;

use crate::context::StoreRefusal;
use crate::stores::memory_tasks::MemoryTaskStore;
use crate::stores::memory_tasks::table::TaskEntry;
use crate::stores::task::TaskStatus;
use crate::stores::task_id::TaskId;

/// The error for an attempt that is not the latest one.
const STALE: &str = "the task has ended or was claimed again";

impl MemoryTaskStore {
    /// Calls `work` with a task's entry if this attempt may still write.
    pub(super) fn as_attempt<T>(
        &self,
        id: &TaskId,
        attempt: u64,
        work: impl FnOnce(&mut TaskEntry) -> T,
    ) -> Option<T> {
        let table = &mut *self.table();
        let entry = table.tasks.get_mut(id)?;
        let is_latest = entry.task.attempt == attempt && entry.task.status == TaskStatus::Working;
        is_latest.then(|| work(entry))
    }

    /// Like [`as_attempt`](Self::as_attempt), for work that adds at most `more` bytes to the steps.
    pub(super) fn with_steps<T>(
        &self,
        (id, attempt, more): (&TaskId, u64, usize),
        work: impl FnOnce(&mut TaskEntry) -> T,
    ) -> Result<T, StoreRefusal> {
        let stale = || StoreRefusal::new(STALE);
        let table = &mut *self.table();
        let entry = table.tasks.get(id).ok_or_else(stale)?;
        if entry.task.attempt != attempt || entry.task.status != TaskStatus::Working {
            return Err(stale());
        }
        let owner = Arc::clone(&entry.task.owner);
        let has_room = table.has_room(&owner, more, &self.limits);
        let entry = table.tasks.get_mut(id).ok_or_else(stale)?;
        let before = entry.step_bytes;
        if !has_room && more > 0 {
            return Err(StoreRefusal::new("the task store is full"));
        }
        let done = work(entry);
        let after = entry.step_bytes;
        table.count(&owner, before, after);
        Ok(done)
    }
}
