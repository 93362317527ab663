//! Command outcomes.

use crate::client::Failure;
use crate::error::Error;

/// The reason why a command failed.
#[derive(Debug)]
pub(super) enum CommandError {
    /// The server could not start.
    Start(Error),
    /// The command failed with this message.
    Failed(String),
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        let hint = if failure.requires_task() {
            "; add `--task`"
        } else {
            ""
        };
        Self::Failed(format!("{failure}{hint}"))
    }
}

/// A command's outcome. `Ok(true)` means that the command did not find any problems.
pub(super) type CommandResult = Result<bool, CommandError>;
