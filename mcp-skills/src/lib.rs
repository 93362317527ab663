//! The rules for skills: their files, names and front matter, and reading them from a folder.
//!
//! `mcp-macros` applies them when a program is compiled and `mcp-runtime` while it runs, so both accept the same skills and
//! word mistakes alike. URIs, entries and the methods of the extension are left to `mcp-runtime`.
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
pub mod problem;
pub mod skill;
