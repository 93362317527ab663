//! A client in the process of its server, or over HTTP, for any protocol version. The command line and the client for tests stand on it.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this
//! crate may change or disappear in any release, including patch releases.
//!
//! The client is well behaved and trusts the server, because both share the same code. Its [`ClientHost`] answers
//! questions and receives notifications.

#![forbid(unsafe_code)]

mod connection;
#[cfg(feature = "http")]
mod http;
mod requests;

pub use connection::{
    ClientHost, InProcessClient, Notification, Question, RequestError, ServerConnection, serve,
};
#[cfg(feature = "http")]
pub use http::connect_http;
pub use requests::StartedCall;
