//! The protocol layer of `mcp-runtime`: messages, wire types and versions of the Model Context Protocol.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this
//! crate may change or disappear in any release, including patch releases.
//!
//! All functions in this crate are pure: they perform no I/O, do not need an async runtime, and never call user code.
//!
//! | To | Use |
//! |---|---|
//! | read a message or write parts of one | [`jsonrpc`] |
//! | represent the contents of messages | [`types`], where each type has the fields of all protocol versions |
//! | look up the features of a protocol version | [`ProtocolVersion`], [`Era`], [`Method`] |
//! | determine a client's protocol version and capabilities | [`negotiation`] |
//! | write a complete message | [`encode`], which uses [`shape`] to adapt values to the version |
//! | ask the client a question | [`input`] |
//! | reject a request | [`errors`] |

#![forbid(unsafe_code)]

pub mod encode;
pub mod errors;
pub mod input;
pub mod jsonrpc;
pub mod negotiation;
pub mod shape;
pub mod types;
mod version;

pub use version::{
    ClientNotification, Era, Method, MethodCapability, ProtocolVersion, is_core_meta_key,
    is_core_name, is_reserved_meta_key,
};
