//! The schema's types under the schema's names.
//!
//! The types are neutral: each holds every field that any protocol version has, and does not depend on one.
//! The server decides which fields a given version sees. Serialization follows the newest version; absent optional
//! fields are omitted, never written as `null`.
//!
//! Specification: the schema of revision 2026-07-28, and the parts of earlier revisions that it lacks.

mod capabilities;
mod common;
mod completion;
mod content;
mod form;
mod format;
mod input;
mod logging;
mod prompt;
mod resource;
mod sampling;
mod sampling_message;
mod tool;

pub use capabilities::{
    ClientCapabilities, ClientFeature, CompletionsCapability, ElicitationCapability,
    ListChangedCapability, LoggingCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities,
};
pub use common::{Annotations, Icon, IconTheme, Implementation, Meta, Role};
pub use completion::{Completion, CompletionReference};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceContents, ResourceLink,
    TextContent,
};
#[doc(hidden)]
pub use form::FieldInput;
pub use form::{Choice, Field, Form};
pub use format::Format;
pub use input::{InputRequest, Root};
pub use logging::LoggingLevel;
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{CacheScope, ReadResourceResult, Resource, ResourceTemplate};
pub use sampling::{IncludeContext, ModelPreferences, SamplingRequest};
pub use sampling_message::{CreateMessageResult, SamplingContent, SamplingMessage};
pub use tool::{CallToolResult, Tool, ToolAnnotations};

#[cfg(test)]
mod tests;
