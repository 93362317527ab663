//! Responses: their bodies (complete messages or events), refusals, and permits for streams.
//!
//! The contents are provided by the modules that answer requests, `modern` and `legacy`.

pub(super) mod activity;
pub(super) mod answer;
pub(super) mod body;
pub(super) mod event_source;
pub(super) mod message;
pub(super) mod pending;
pub(super) mod refusal;
pub(super) mod sse;
pub(super) mod stream_permits;
