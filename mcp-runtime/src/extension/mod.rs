//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]; `build` checks all of a server's extensions together when it
//! starts, and requests are checked against `Extensions`. `dispatch` runs the methods and sends the notifications. Each
//! extension that comes with this crate has its own module in this folder. Such an extension is described with
//! [`Extension`], like a custom extension, so the request-handling code does not depend on it.
//!
//! Specification: 2026-07-28, basic/extensions.

pub(crate) mod apps;
#[path = "../../../crates/core/src/extension/build.rs"]
mod build;
#[cfg(feature = "skills")]
pub(crate) mod skills;
pub(crate) mod tasks;

pub use crate::handler::background::{
    BackgroundCall, BackgroundOutcome, BackgroundQuestion, BackgroundRun, QuestionAnswer,
};
pub use crate::handler::call::{ExtensionResult, IntoExtensionResult};
pub use crate::handler::extension::{Extension, ExtensionMethod, FilterMember};
pub use crate::handler::middleware::BackgroundPermit;
pub(crate) use build::{Extensions, FilterProblem, ServerChanges, build};
