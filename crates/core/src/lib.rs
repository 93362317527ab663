//! The core of `mcp-runtime`: what handlers are given and return, the definitions of a server, its calls, and its
//! notifications.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this
//! crate may change or disappear in any release, including patch releases.
//!
//! The core has no sockets and no files: a transport hands it a message and gets a decision ([`dispatch`]).
//!
//! | To | Use |
//! |---|---|
//! | serve messages | [`dispatch::Dispatcher`], which decides what to do with each |
//! | run a call, and keep it while it waits | [`dispatch::PreparedCall`], [`dispatch::CallTable`] |
//! | remember what a connection has said | [`dispatch::ChannelMemory`] |
//! | build a server's definitions | [`registry::Registry`] |
//! | add something to a server from outside | [`handler::option::AddOn`], [`extension::Extension`], [`registry::ToolSource`] |
//! | be told of requests and failures | [`observe::Observers`] |
//! | bound what clients can cause | [`limits::Limits`], [`budget::ByteBudget`] |
#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod budget;
pub mod context;
#[doc(hidden)]
pub mod dispatch;
pub mod error;
pub mod extension;
#[doc(hidden)]
pub mod fnv;
pub mod handler;
#[doc(hidden)]
pub mod host;
pub mod limits;
#[doc(hidden)]
pub mod observe;
#[doc(hidden)]
pub mod order;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod rate;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod seal;
#[doc(hidden)]
pub mod spawn;
#[doc(hidden)]
pub mod sync;

pub use mcp_protocol as protocol;
pub use mcp_protocol::jsonrpc;
pub use mcp_protocol::types;
