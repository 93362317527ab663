//! The Model Context Protocol as `mcp-runtime` reads and writes it: messages, wire types, protocol versions.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items of this one
//! change and disappear in any release, patch releases included.
//!
//! Everything here is a pure function of its input: no I/O, no async runtime, no code of users.
//!
//! | To | Use |
//! |---|---|
//! | read a message, or write its parts | [`jsonrpc`] |
//! | name what messages contain | [`types`], neutral: each type has the fields of every protocol version |
//! | ask what a protocol version has | [`ProtocolVersion`], [`Era`], [`Method`] |
//! | learn which version and capabilities a client has | [`negotiation`] |
//! | write a whole message | [`encode`], which adapts values to the version by way of [`shape`] |
//! | ask the client | [`input`] |
//! | refuse a request | [`errors`] |

#![forbid(unsafe_code)]

pub mod encode;
pub mod errors;
pub mod input;
pub mod jsonrpc;
mod meta;
mod method;
pub mod negotiation;
pub mod shape;
pub mod types;
mod version;

pub use meta::is_reserved;
pub use method::{ClientNotification, Method, MethodCapability};
pub use version::{Era, ProtocolVersion};
