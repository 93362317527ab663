//! What a completer may return, and how candidates are ranked.

use crate::handler::tool_error::{IntoToolError, ToolError};

/// Candidates a completer offers, in any order; the framework ranks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidates {
    /// What may be chosen.
    pub values: Vec<String>,
    /// Whether `values` are already filtered and in order of relevance, so that they are not ranked again.
    pub ranked: bool,
    /// How many there are in all, if the completer knows more than it offers.
    pub total: Option<u64>,
}

/// What a completer may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a completer",
    label = "not a list of candidates",
    note = "return a `Vec`, array or slice of strings, `Candidates`, or a `Result` of these"
)]
pub trait IntoCompletion {
    /// The candidates.
    ///
    /// # Errors
    ///
    /// What the completer failed with.
    fn into_completion(self) -> Result<Candidates, ToolError>;
}

impl<T: IntoCompletion, E: IntoToolError> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Candidates, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_completion()
    }
}

pub(crate) fn rank(partial: &str, candidates: Candidates) -> crate::types::Completion {
    let _ = (partial, candidates);
    todo!()
}
