//! Responses: their bodies (complete messages or events), refusals, and permits for streams.
//!
//! The modules that answer requests, `modern` and `legacy`, provide the contents.

pub(super) mod answer;
pub(super) mod body;
pub(super) mod refusal;
pub(super) mod sse;
