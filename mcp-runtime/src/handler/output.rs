//! What a tool may return.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::handler::tool_error::{IntoToolError, ToolError};
use crate::types::CallToolResult;

/// Structured output: sent as `structuredContent` with an output schema, and as text for older clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json<T>(pub T);

/// What a tool may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a tool",
    label = "not a tool result",
    note = "return text, a number, `bool`, `()`, content blocks, `Option` or `Result` of these, or `Json<T>` where `T: Serialize + JsonSchema`"
)]
pub trait IntoToolResult {
    /// The neutral result.
    ///
    /// # Errors
    ///
    /// What the handler failed with.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;

    /// The schema of `structuredContent`, if there will be any.
    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        let _ = generator;
        None
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl<T: IntoToolResult, E: IntoToolError> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_tool_result()
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        todo!()
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.root_schema_for::<T>())
    }
}
