//! The operations that operators use, on tasks in memory.

use std::time::SystemTime;

use tokio::time::Instant;

use crate::stores::memory_tasks::MemoryTaskStore;
use crate::stores::memory_tasks::table::StepEntry;
use crate::stores::task::{TaskDetails, TaskPage, TaskStep};
use crate::stores::task_id::TaskId;
use crate::stores::task_store::TaskChanged;

impl MemoryTaskStore {
    pub(super) fn list_all_now(&self, cursor: Option<&str>, max: usize) -> Option<TaskPage> {
        let after: u64 = cursor.map_or(Some(0), |cursor| cursor.parse().ok())?;
        let table = self.table();
        let entries = table.tasks.values().filter(|entry| entry.number > after);
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        let max = max.max(1);
        let has_more = entries.len() > max;
        entries.truncate(max);
        let last = entries.last().filter(|_| has_more);
        let next = last.map(|entry| entry.number.to_string());
        let tasks = entries.into_iter().map(|entry| entry.task.clone());
        Some(TaskPage::new(tasks.collect(), next))
    }

    pub(super) fn inspect_now(&self, id: &TaskId) -> Option<TaskDetails> {
        let table = self.table();
        let entry = table.tasks.get(id)?;
        let due_in = entry
            .due
            .map(|due| due.saturating_duration_since(Instant::now()));
        let steps = entry.steps.iter();
        let steps = steps
            .map(|(name, result)| TaskStep::new(&**name, matches!(result, StepEntry::Done(_))));
        Some(TaskDetails::new(
            entry.task.clone(),
            due_in,
            steps.collect(),
        ))
    }

    pub(super) fn retry_now(
        &self,
        id: &TaskId,
        version: u64,
        not_done: Option<&str>,
    ) -> TaskChanged {
        let table = &mut *self.table();
        let Some(entry) = table.tasks.get_mut(id) else {
            return TaskChanged::Unchanged;
        };
        if entry.task.version != version || !entry.task.can_be_retried() {
            return TaskChanged::Unchanged;
        }
        let before = entry.task.size().saturating_add(entry.step_bytes);
        entry.task.retry(SystemTime::now());
        if let Some(name) = not_done
            && let Some(StepEntry::Begun(_)) = entry.steps.get(name)
        {
            entry.steps.remove(name);
            entry.step_bytes = entry.step_bytes.saturating_sub(name.len());
        }
        let after = entry.task.size().saturating_add(entry.step_bytes);
        entry.changed.notify_waiters();
        let task = entry.task.clone();
        table.count(&task.owner, before, after);
        table.set_due(id, Some(Instant::now()));
        TaskChanged::Changed(task)
    }
}
