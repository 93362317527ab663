//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]; `build` checks all of a server's extensions together when it
//! starts, and requests are checked against `Extensions`. `dispatch` runs the methods and sends the notifications. The
//! extensions that come with the runtime are described with [`Extension`], like an author's own.
//!
//! Specification: 2026-07-28, basic/extensions.

mod build;

pub use crate::handler::background::{
    BackgroundCall, BackgroundOutcome, BackgroundQuestion, BackgroundRun, QuestionAnswer,
};
pub use crate::handler::extension::{Extension, ExtensionMethod, FilterMember};
pub use crate::handler::middleware::BackgroundPermit;
pub use crate::handler::run::{ExtensionResult, IntoExtensionResult};
pub use build::{Extensions, FilterRefusal, ServerChanges, build};
