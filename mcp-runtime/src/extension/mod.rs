//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]. Those that come with the runtime are described
//! with [`Extension`], too, so the code that handles requests does not depend on them.
//!
//! What is no part of the protocol, such as a search for tools, is a [`ServerAddOn`] instead.
//!
//! Specification: 2026-07-28, basic/extensions.

#[doc(inline)]
pub use mcp_core::dispatch::ServerAddOn;
#[doc(inline)]
pub use mcp_core::extension::{
    BackgroundCall, BackgroundOutcome, BackgroundPermit, BackgroundQuestion, BackgroundRun,
    Extension, ExtensionMethod, ExtensionResult, FilterMember, IntoExtensionResult, QuestionAnswer,
};
pub(crate) use mcp_core::extension::{Extensions, ServerChanges, build};
