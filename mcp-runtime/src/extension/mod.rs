//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]. Each extension that comes with this crate has its own module in
//! this folder, and is described with [`Extension`], too, so the code that handles requests does not depend on it.
//!
//! Specification: 2026-07-28, basic/extensions.

#[doc(inline)]
pub use mcp_core::extension::{
    BackgroundCall, BackgroundOutcome, BackgroundPermit, BackgroundQuestion, BackgroundRun,
    Extension, ExtensionMethod, ExtensionResult, FilterMember, IntoExtensionResult, QuestionAnswer,
};
pub(crate) use mcp_core::extension::{Extensions, ServerChanges, build};
