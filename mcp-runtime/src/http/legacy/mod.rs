//! Legacy requests: those that rely on a handshake, with the sessions of 2025 and the event stream of 2024-11-05.
//!
//! The live part of a session, which calls and streams belong to, is left to `sessions`; the meaning of methods to the
//! dispatcher.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; 2024-11-05, basic/transports, "HTTP with SSE".

pub(super) mod batch;
pub(super) mod delete;
pub(super) mod get;
mod handshake;
pub(super) mod legacy_sse;
pub(super) mod post;
mod posted;
mod replies;
mod requests;
mod session_events;
mod unsaved_session;
mod version_header;
