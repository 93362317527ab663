//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]. Those that come with the runtime are described
//! with [`Extension`], too, so the code that handles requests does not depend on them.
//!
//! What is no part of the protocol, such as a search for tools, is another [`ServerAddOn`]; tools that are found while a client
//! asks for them come from a [`ToolSource`].
//!
//! Specification: 2026-07-28, basic/extensions.

#[doc(inline)]
pub use mcp_core::dispatch::ServerAddOn;
#[doc(inline)]
pub use mcp_core::extension::{
    Extension, ExtensionMethod, ExtensionResult, FilterMember, IntoExtensionResult,
};
#[doc(inline)]
pub use mcp_core::registry::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
#[doc(inline)]
pub use mcp_extra::idempotency::IdempotencyKeys;
#[doc(inline)]
pub use mcp_extra::sanitize::Sanitizer;
#[doc(inline)]
pub use mcp_extra::tags::TagInstructions;
#[doc(inline)]
pub use mcp_extra::tool_search::ToolSearch;

pub(crate) use mcp_core::extension::{Extensions, ServerChanges, build};
