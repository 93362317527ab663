//! The attributes, and the functions of the same names that select what they annotate.
//!
//! `tool` the attribute is a macro and `tool` the function is a value, so one import brings both.

pub use mcp_macros::{completer, data, main, prompt, resource, resource_template, server, tool};

pub use crate::handler::definition::{completer, prompt, resource, resource_template, tool};
