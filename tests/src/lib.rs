//! Code shared by the test binaries: a raw client that trusts nothing, the official schemas that check every message,
//! and a server that asks.
//!
//! The clients use none of the runtime's own types: a fault they shared with the server would stay hidden.

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
pub mod schema;
pub mod version;
pub mod wait;

pub use client::{Answer, Client, Failure, Question};
pub use link::{Link, Served};
pub use process::{Process, binary};
pub use version::Version;
