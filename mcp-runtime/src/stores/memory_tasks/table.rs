//! The tasks kept in memory, and their size in bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::context::ClaimId;
use crate::limits::TaskLimits;
use crate::stores::expiry::ExpiryOrder;
use crate::stores::task::StoredTask;
use crate::stores::task_id::TaskId;
use crate::stores::task_store::ClaimExceptions;

/// The tasks, indexed by several keys, and their size in bytes.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    pub(super) tasks: HashMap<TaskId, TaskEntry>,
    pub(super) by_owner: HashMap<Arc<str>, CallerTasks>,
    pub(super) by_expiry: ExpiryOrder<TaskId>,
    /// The working tasks in the order in which they are due.
    pub(super) by_due: BTreeMap<(Instant, u64), TaskId>,
    pub(super) created: u64,
    /// Number of claims of due tasks.
    pub(super) turns: u64,
    pub(super) bytes: usize,
}

/// A single caller's tasks.
#[derive(Debug, Default)]
pub(super) struct CallerTasks {
    /// The ids in order of creation.
    pub(super) ids: BTreeMap<u64, TaskId>,
    pub(super) bytes: usize,
    /// The number of the caller's last turn, or zero.
    pub(super) last_turn: u64,
}

/// A step in a task.
#[derive(Debug)]
pub(super) enum StepEntry {
    Begun(ClaimId),
    /// The step is done, with this result.
    Done(Box<str>),
}

/// A task with its lease and its steps.
#[derive(Debug)]
pub(super) struct TaskEntry {
    pub(super) task: StoredTask,
    pub(super) number: u64,
    pub(super) expires: Instant,
    /// The time from which a process can claim the task, which is the end of its lease. `None` unless the task is
    /// working.
    pub(super) due: Option<Instant>,
    pub(super) steps: HashMap<Box<str>, StepEntry>,
    /// Size of the steps in bytes.
    pub(super) step_bytes: usize,
    pub(super) changed: Arc<Notify>,
}

impl TaskTable {
    pub(super) fn bytes_of(&self, owner: &str) -> usize {
        self.by_owner.get(owner).map_or(0, |owned| owned.bytes)
    }

    pub(super) fn has_room(&self, owner: &str, more: usize, limits: &TaskLimits) -> bool {
        self.bytes.saturating_add(more) <= limits.max_bytes
            && self.bytes_of(owner).saturating_add(more) <= limits.max_bytes_per_caller
    }

    /// Replaces `before` bytes with `after` bytes in a caller's count.
    pub(super) fn count(&mut self, owner: &str, before: usize, after: usize) {
        let counted = |bytes: usize| bytes.saturating_sub(before).saturating_add(after);
        self.bytes = counted(self.bytes);
        if let Some(owned) = self.by_owner.get_mut(owner) {
            owned.bytes = counted(owned.bytes);
        }
    }

    /// Sets the time from which a process can claim a task.
    pub(super) fn set_due(&mut self, id: &TaskId, due: Option<Instant>) {
        let Some(entry) = self.tasks.get_mut(id) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut entry.due, due) {
            self.by_due.remove(&(before, entry.number));
        }
        if let Some(due) = due {
            self.by_due.insert((due, entry.number), id.clone());
        }
    }

    /// Returns the due task whose turn it is.
    pub(super) fn next_due(&self, now: Instant, except: &ClaimExceptions) -> Option<TaskId> {
        let due = self.by_due.range(..=(now, u64::MAX)).map(|(_, id)| id);
        let due = due.filter_map(|id| self.tasks.get(id));
        let due = due.filter(|entry| !except.contains(&entry.task));
        let last_turn = |owner: &str| self.by_owner.get(owner).map_or(0, |owned| owned.last_turn);
        // Among the tasks of a caller, the first one is returned.
        let next = due.min_by_key(|entry| last_turn(&entry.task.owner));
        next.map(|entry| entry.task.id.clone())
    }

    /// Records that a caller has had its turn.
    pub(super) fn end_turn(&mut self, owner: &str) {
        self.turns = self.turns.saturating_add(1);
        if let Some(owned) = self.by_owner.get_mut(owner) {
            owned.last_turn = self.turns;
        }
    }

    pub(super) fn remove(&mut self, id: &TaskId) {
        let Some(entry) = self.tasks.remove(id) else {
            return;
        };
        self.by_expiry.remove(entry.expires, id);
        if let Some(due) = entry.due {
            self.by_due.remove(&(due, entry.number));
        }
        let size = entry.task.size().saturating_add(entry.step_bytes);
        self.count(&entry.task.owner, size, 0);
        if let Some(owned) = self.by_owner.get_mut(&entry.task.owner) {
            owned.ids.remove(&entry.number);
            if owned.ids.is_empty() {
                self.by_owner.remove(&entry.task.owner);
            }
        }
        entry.changed.notify_waiters();
    }
}
