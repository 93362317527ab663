//! What a resource may return.

use crate::handler::tool_error::{IntoToolError, ToolError};
use crate::types::ReadResourceResult;

/// What a resource or a template may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a resource",
    label = "not resource contents",
    note = "return text, bytes (`Vec<u8>`), `Json<T>`, `ResourceContents` or a `Vec` of them, or `Option` (`None`: not found) or `Result` of these"
)]
pub trait IntoResource {
    /// The neutral result. Contents without an address or a media type receive those of the request and the definition.
    ///
    /// # Errors
    ///
    /// What the handler failed with; [`ToolError::resource_not_found`] if there is nothing at the address.
    fn into_resource(self) -> Result<ReadResourceResult, ToolError>;
}

impl<T: IntoResource, E: IntoToolError> IntoResource for Result<T, E> {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_resource()
    }
}
