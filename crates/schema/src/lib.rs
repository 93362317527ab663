//! JSON Schema and URI templates, independent of the Model Context Protocol: schema generation from Rust types,
//! validation that explains each problem, suggestions for misspelled names, URI matching, and rules for the strings in
//! definitions. Without the `schemas` feature, the crate contains only the rules and suggestions that the macros need.
//!
//! This crate is an internal part of `mcp-runtime` and has no stable API. Depend on `mcp-runtime` instead, which
//! re-exports everything that users need.

#![forbid(unsafe_code)]

#[cfg(feature = "schemas")]
pub mod check;
#[cfg(feature = "schemas")]
pub mod constraint;
#[cfg(feature = "schemas")]
pub mod explain;
#[cfg(feature = "schemas")]
pub mod format;
#[cfg(feature = "schemas")]
pub mod generate;
#[cfg(feature = "schemas")]
pub mod model_rules;
#[cfg(feature = "schemas")]
pub mod query;
pub mod rules;
#[cfg(feature = "schemas")]
pub mod sample;
pub mod suggest;
#[cfg(feature = "schemas")]
pub mod template;
#[cfg(feature = "schemas")]
pub mod text;
pub mod verdict;
