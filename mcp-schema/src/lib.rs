//! JSON Schema and URI templates, independent of the Model Context Protocol: schema generation from Rust types,
//! validation with explanations of what is wrong, suggestions for misspelled names, and matching of URIs.
//!
//! This crate is an internal part of `mcp-runtime`, which re-exports what users need. Its API is not stable, so depend
//! on `mcp-runtime` instead.

#![forbid(unsafe_code)]

pub mod check;
pub mod constraint;
pub mod explain;
pub mod generate;
pub mod query;
pub mod suggest;
pub mod template;
pub mod verdict;
