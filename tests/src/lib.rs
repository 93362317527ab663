//! Code shared by the test binaries: raw clients that do not trust the server, checks of every message against the
//! official schemas, and a server whose handlers ask questions.
//!
//! The clients do not use the runtime's types, because a fault that they shared with the server would go unnoticed.

#![allow(
    clippy::missing_panics_doc,
    reason = "panicking is how a test says that something is wrong"
)]

pub mod asking;
pub mod bridge;
pub mod client;
pub mod directory;
pub mod events;
pub mod http;
mod judge;
pub mod link;
pub mod process;
pub mod run;
pub mod schema;
pub mod tls;
pub mod version;
pub mod wait;

pub use client::{Answer, Client, Failure, Question};
pub use directory::Directory;
pub use link::{Link, Served};
pub use process::{Process, binary};
pub use version::Version;

/// Returns the default limits, but with this many items on a list page.
#[must_use]
pub fn pages_of(items: usize) -> mcp_runtime::Limits {
    mcp_runtime::Limits::default().with(|limits| limits.message.max_page_items = items)
}
