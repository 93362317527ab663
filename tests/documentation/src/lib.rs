//! Runs the examples in the documentation of the crates below `mcp-runtime`. They are servers, and a crate whose tests need
//! `mcp-runtime` would wait for it after each change.
//!
//! `build.rs` writes a module for each file of these crates, the ones with `#![cfg(not(doctest))]`. It has the documentation in the
//! lines of the file, so the line in the name of an example is that of the file.

#[cfg(doctest)]
include!(concat!(env!("OUT_DIR"), "/modules.rs"));
