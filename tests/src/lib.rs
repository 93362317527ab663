//! What the test binaries share: a raw client that believes nothing, the official schemas that judge every message, and a
//! server that asks.
//!
//! Clients use none of the runtime's own types: a fault they share with the server would hide.

#![allow(
    clippy::missing_panics_doc,
    reason = "panicking is how a test says that something is wrong"
)]

pub mod asking;
pub mod bridge;
pub mod client;
pub mod events;
pub mod http;
pub mod link;
pub mod process;
pub mod revision;
pub mod schema;
pub mod tamper;
pub mod test_client;

pub use client::{Answer, Client, Failure, Question};
pub use link::{Link, Served};
pub use process::{Process, binary};
pub use revision::Revision;
pub use test_client::TestClient;
