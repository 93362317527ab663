//! JSON Schema and URI templates, without the Model Context Protocol: schemas of Rust types, the check of values against
//! schemas with explanations of what is wrong, suggestions of names, and matching of URIs.
//!
//! This crate is internal to `mcp-runtime`, which re-exports the parts for users. It makes no promise of stability: depend on
//! `mcp-runtime`.

#![forbid(unsafe_code)]

pub mod check;
pub mod constraint;
pub mod explain;
pub mod generate;
pub mod query;
pub mod suggest;
pub mod template;
pub mod verdict;
