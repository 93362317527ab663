//! Retries, cancels and deletes tasks.

use mcp_stores::{StoredTask, TaskChange, TaskChanged, TaskId, TaskStatus, TaskStore};
use serde_json::{Value, json};

use crate::print;
use crate::session::{CommandError, CommandResult};
use crate::tasks::show;
use crate::tasks::show::{unavailable, unknown};

/// Makes a failed task due.
pub(super) async fn retry(
    store: &dyn TaskStore,
    id: &TaskId,
    not_done: Option<&str>,
    json: bool,
) -> CommandResult {
    if let Some(name) = not_done {
        let details = store.inspect(id).await.map_err(unavailable)?;
        let details = details.ok_or_else(|| unknown(id))?;
        let mut open = details.steps.iter().filter(|step| !step.is_done);
        if !open.any(|step| step.name == name) {
            let text = format!("the task has no step `{name}` that was started but not finished");
            return Err(text.into());
        }
    }
    loop {
        let task = load(store, id).await?;
        if !task.can_be_retried() {
            let text = if task.has_failed() {
                "the store had no room to keep what the task needs to run again".to_owned()
            } else {
                format!(
                    "only failed tasks can be retried; this one is {}",
                    name(&task)
                )
            };
            return Err(text.into());
        }
        let retried = store.retry(id, task.version, not_done).await;
        if let TaskChanged::Changed(task) = retried.map_err(unavailable)? {
            print(&task, "the task is due again", json);
            return Ok(true);
        }
        // The task has changed in the meantime.
    }
}

pub(super) async fn cancel(store: &dyn TaskStore, id: &TaskId, json: bool) -> CommandResult {
    loop {
        let task = load(store, id).await?;
        if task.status.is_final() {
            return Err(format!("the task has already ended: it is {}", name(&task)).into());
        }
        // Without the state, even a full store has room for the message.
        let cancelled = TaskChange::to(TaskStatus::Cancelled)
            .message("cancelled by an operator")
            .state("");
        let changed = store.change(id, task.version, cancelled).await;
        match changed.map_err(unavailable)? {
            TaskChanged::Changed(task) => {
                print(&task, "the task is cancelled", json);
                return Ok(true);
            }
            TaskChanged::Unchanged => {}
            TaskChanged::Full => return Err("the task store is full".to_owned().into()),
        }
    }
}

pub(super) async fn delete(store: &dyn TaskStore, owner: &str, json: bool) -> CommandResult {
    let deleted = store.delete_all(owner).await.map_err(unavailable)?;
    if json {
        print::json(&json!({"deleted": deleted}));
    } else {
        let tasks = if deleted == 1 { "task" } else { "tasks" };
        print::line(&format!("{deleted} {tasks} deleted"));
    }
    Ok(true)
}

async fn load(store: &dyn TaskStore, id: &TaskId) -> Result<StoredTask, CommandError> {
    let task = store.load(id).await.map_err(unavailable)?;
    task.ok_or_else(|| unknown(id))
}

fn print(task: &StoredTask, text: &str, json: bool) {
    if json {
        print::json(&Value::Object(show::task_object(task)));
    } else {
        print::line(text);
    }
}

/// Returns a task's status in words.
fn name(task: &StoredTask) -> String {
    show::status(task).replace('_', " ")
}
