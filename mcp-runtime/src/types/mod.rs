//! The schema's types under the schema's names.
//!
//! They are neutral: each holds every field any revision has, and knows nothing of revisions. What a given revision may
//! see is decided by `protocol::shape`. Serialisation follows the newest revision; absent optional fields are left out,
//! never written as `null`.
//!
//! Specification: the schema of revision 2026-07-28, and what earlier revisions had that it lacks.

mod capabilities;
mod common;
mod completion;
mod content;
mod form;
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
pub(crate) use form::Input;
pub use form::{Choice, Field, Form, Format};
pub use input::{InputRequest, Root};
pub use logging::LoggingLevel;
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{CacheScope, ReadResourceResult, Resource, ResourceTemplate};
pub use sampling::{IncludeContext, ModelPreferences, Sample};
pub use sampling_message::{CreateMessageResult, SamplingContent, SamplingMessage};
pub use tool::{CallToolResult, Tool, ToolAnnotations};

#[cfg(test)]
mod tests;
