//! Extensions of the protocol: their methods, results, notifications and filters, negotiated by identifier.
//!
//! An author describes an extension with [`Extension`]; `build` checks all extensions of a server together when it
//! starts, and `Extensions` is what requests are compared with. `dispatch` runs the methods and sends the
//! notifications. Extensions that come with this crate have a room each in this folder. They are described with
//! [`Extension`], as an author's own are, so that requests need to know nothing of them.
//!
//! Specification: 2026-07-28, basic/extensions.

pub(crate) mod apps;
mod build;
mod declaration;
mod filter;
mod method;
mod registered;
#[cfg(feature = "skills")]
pub(crate) mod skills;
mod visibility;

pub use crate::handler::extension_result::{ExtensionResult, IntoExtensionResult};
pub(crate) use build::build;
pub use declaration::Extension;
pub use filter::FilterMember;
pub use method::ExtensionMethod;
pub(crate) use registered::{Extensions, FilterProblem};
