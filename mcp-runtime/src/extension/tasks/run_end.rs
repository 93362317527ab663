//! The change that records the end of a task's run.

use std::sync::Arc;

use crate::ErrorObject;
use crate::extension::tasks::state::TaskState;
use crate::extension::{BackgroundOutcome, BackgroundQuestion};
use crate::stores::{StoredTask, TaskChange, TaskOutcome, TaskStatus};

/// A change that ends a run.
pub(super) enum RunEnd {
    Cancelled(&'static str),
    Completed(TaskOutcome),
    /// The run failed, with this message and error.
    Failed(Arc<str>, TaskOutcome),
    Asks {
        journal: String,
        questions: Vec<BackgroundQuestion>,
    },
}

impl RunEnd {
    pub(super) fn of(outcome: BackgroundOutcome) -> Self {
        match outcome {
            BackgroundOutcome::Done { result, is_error } => {
                let json = Arc::from(Box::<str>::from(result));
                Self::Completed(TaskOutcome::Result { json, is_error })
            }
            BackgroundOutcome::Failed(error) => Self::failed(&error),
            BackgroundOutcome::InputRequired { journal, questions } => {
                Self::Asks { journal, questions }
            }
        }
    }

    pub(super) fn failed(error: &ErrorObject) -> Self {
        let json = serde_json::to_string(error).unwrap_or_default().into();
        Self::Failed((&*error.message).into(), TaskOutcome::Error { json })
    }

    pub(super) fn change(&self, task: &StoredTask, max_state_bytes: usize) -> TaskChange {
        match self {
            Self::Cancelled(why) => {
                without_state(TaskChange::to(TaskStatus::Cancelled)).message(*why)
            }
            Self::Completed(outcome) => {
                let completed = TaskChange::to(TaskStatus::Completed).outcome(outcome.clone());
                match outcome {
                    TaskOutcome::Result { is_error: true, .. } => for_retries(completed, task),
                    _ => without_state(completed),
                }
            }
            Self::Failed(message, outcome) => {
                let failed = TaskChange::to(TaskStatus::Failed)
                    .message(Arc::clone(message))
                    .outcome(outcome.clone());
                for_retries(failed, task)
            }
            Self::Asks { journal, questions } => {
                let mut state = TaskState::read(&task.state).unwrap_or_default();
                state.ask(journal.clone(), questions.clone());
                let state = state.to_text();
                if state.len() > max_state_bytes {
                    let text = format!(
                        "the state that this task keeps between two runs is {} bytes, but the maximum is {max_state_bytes}",
                        state.len()
                    );
                    let error = ErrorObject::internal(text);
                    return Self::failed(&error).change(task, max_state_bytes);
                }
                TaskChange::to(TaskStatus::InputRequired).state(state)
            }
        }
    }
}

/// Lets a failed task keep its journal and its answers, so that operators can retry it, if the store has its call.
fn for_retries(change: TaskChange, task: &StoredTask) -> TaskChange {
    if task.call.is_empty() {
        without_state(change)
    } else {
        change
    }
}

/// Drops the journal and the answers, which are never read again.
fn without_state(change: TaskChange) -> TaskChange {
    change.state("")
}
