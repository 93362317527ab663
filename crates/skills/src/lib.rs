//! The rules for the files, names and front matter of skills, and functions that read skills from a folder.
//!
//! `mcp-macros` applies the rules when a program is compiled and `mcp-runtime` applies them while it runs, so both
//! accept the same skills and report mistakes in the same way. `mcp-runtime` handles URIs, entries and the extension's
//! methods.
//!
//! This crate is an internal part of `mcp-runtime` and has no stable API. Depend on `mcp-runtime` instead, which
//! re-exports everything that users need.
//!
//! Specification: the repository `modelcontextprotocol/ext-skills`, version 2026-09-04.

#![forbid(unsafe_code)]

pub mod digest;
pub mod folder;
pub mod front_matter;
pub mod name;
mod open;
pub mod problem;
pub mod skill;
