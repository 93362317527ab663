//! What a prompt may return.

use crate::handler::tool_error::{IntoToolError, ToolError};
use crate::types::{GetPromptResult, PromptMessage};

/// What a prompt may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a prompt",
    label = "not a prompt result",
    note = "return text (one message from the user), `PromptMessage`, a `Vec` or tuple of messages or content, `GetPromptResult`, or a `Result` of these"
)]
pub trait IntoPrompt {
    /// The neutral result.
    ///
    /// # Errors
    ///
    /// What the handler failed with.
    fn into_prompt(self) -> Result<GetPromptResult, ToolError>;
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::new(vec![PromptMessage::user(self)]))
    }
}

impl<T: IntoPrompt, E: IntoToolError> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?.into_prompt()
    }
}
