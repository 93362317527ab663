//! Errors reported by several task commands.

use crate::server::command_line::outcome::CommandError;

pub(super) fn unknown(id: impl std::fmt::Display) -> CommandError {
    format!("there is no task `{id}`, or its time to live has ended").into()
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(error: Box<dyn std::error::Error + Send + Sync>) -> CommandError {
    format!("the task store failed: {error}").into()
}
