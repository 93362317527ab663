//! The change with which a task's run ends.

use std::sync::Arc;

use crate::ErrorObject;
use crate::extension::tasks::state::TaskState;
use crate::extension::{BackgroundOutcome, BackgroundQuestion};
use crate::stores::{StoredTask, TaskChange, TaskOutcome, TaskStatus};

/// A change that ends a run.
pub(super) enum RunEnd {
    Cancelled(&'static str),
    Completed(TaskOutcome),
    /// The message and the error.
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
            // A final task's state is never read, so its journal and its answers are not kept.
            Self::Cancelled(why) => TaskChange::to(TaskStatus::Cancelled)
                .message(*why)
                .state(""),
            Self::Completed(outcome) => TaskChange::to(TaskStatus::Completed)
                .outcome(outcome.clone())
                .state(""),
            Self::Failed(message, outcome) => TaskChange::to(TaskStatus::Failed)
                .message(Arc::clone(message))
                .outcome(outcome.clone())
                .state(""),
            Self::Asks { journal, questions } => {
                let mut state = TaskState::read(&task.state).unwrap_or_default();
                state.ask(journal.clone(), questions.clone());
                let state = state.to_text();
                if state.len() > max_state_bytes {
                    let text = format!(
                        "the state of this task between two runs takes {} bytes; the maximum is {max_state_bytes}",
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
