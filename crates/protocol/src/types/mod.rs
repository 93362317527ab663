//! Protocol types, named as in the specification's schema.
//!
//! The types are independent of the protocol version: each type has the fields from all versions. The server decides
//! which fields to send, depending on the client's version. Values are serialized in the format of the newest version.
//! Optional fields without a value are omitted rather than written as `null`.
//!
//! Specification: the schema of revision 2026-07-28, plus the parts of earlier revisions that it no longer contains.

mod capabilities;
mod common;
mod completion;
mod content;
mod definition;
mod form;
mod format;
mod input;
mod logging;
mod sampling;
mod sampling_message;

pub use capabilities::{
    ClientCapabilities, ClientFeature, CompletionsCapability, ElicitationCapability,
    ListChangedCapability, LoggingCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities,
};
pub use common::{Annotations, Icon, IconTheme, Implementation, Meta, Role};
pub use completion::{Completion, CompletionReference};
pub use content::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, GetPromptResult, ImageContent,
    PromptMessage, ReadResourceResult, ResourceContents, ResourceLink, TextContent,
};
pub use definition::{
    CacheScope, Prompt, PromptArgument, Resource, ResourceTemplate, TaskSupport, Tool,
    ToolAnnotations, ToolExecution,
};
#[doc(hidden)]
pub use form::FieldInput;
pub use form::{Choice, Field, Form};
pub use format::FieldFormat;
pub use input::{InputRequest, Root};
pub use logging::LoggingLevel;
pub use sampling::{IncludeContext, ModelPreferences, SamplingRequest};
pub use sampling_message::{CreateMessageResult, SamplingContent, SamplingMessage};

pub use crate::jsonrpc::ErrorObject;

#[cfg(test)]
mod tests;
