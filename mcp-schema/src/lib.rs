//! JSON Schema and URI templates, independent of the Model Context Protocol: schema generation from Rust types,
//! validation that explains what is wrong, suggestions for misspelled names, and URI matching.
//!
//! This crate is an internal part of `mcp-runtime`, which re-exports everything that users need. Its API is not stable,
//! so depend on `mcp-runtime` instead.

#![forbid(unsafe_code)]

pub mod check;
pub mod constraint;
pub mod explain;
pub mod generate;
pub mod query;
pub mod suggest;
pub mod template;
pub mod verdict;
