//! Legacy requests, which rely on a handshake. They belong to a session in the 2025 protocol versions and to an event
//! stream in 2024-11-05.
//!
//! A session's live part, with its calls and streams, is in `sessions`. The methods are implemented by the dispatcher.
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
