//! The add-ons of `mcp-runtime` that need no crate of their own. Each is a folder or a file that nothing else in this
//! crate names.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this crate
//! may change or disappear in any release, including patch releases.
#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod apps;
pub mod idempotency;
pub mod middleware;
pub mod safe_path;
pub mod sanitize;
#[cfg(feature = "skills")]
pub mod skills;
pub mod spill;
pub mod tags;
pub mod tool_search;
#[cfg(feature = "tower")]
pub mod tower;
pub mod values;
