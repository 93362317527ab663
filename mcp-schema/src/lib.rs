//! JSON Schema and URI templates, independent of the Model Context Protocol: schema generation from Rust types,
//! validation that explains each problem, suggestions for misspelled names, and URI matching.
//!
//! This crate is an internal part of `mcp-runtime` and has no stable API. Depend on `mcp-runtime` instead, which
//! re-exports everything that users need.

#![forbid(unsafe_code)]

pub mod check;
pub mod constraint;
pub mod explain;
pub mod format;
pub mod generate;
pub mod model_rules;
pub mod query;
pub mod suggest;
pub mod template;
pub mod text;
pub mod verdict;
