//! What the test binaries share: a raw client that believes nothing, and the official schemas that judge every message.
//!
//! Nothing here uses the runtime's own types: a fault they share with the server would hide.

#![allow(
    clippy::missing_panics_doc,
    reason = "panicking is how a test says that something is wrong"
)]

pub mod client;
pub mod http;
pub mod process;
pub mod revision;
pub mod schema;

pub use client::{Answer, Client, Failure, Question};
pub use process::{Process, binary};
pub use revision::Revision;
