//! Legacy requests, which rely on a handshake: the sessions of the 2025 protocol versions and the event stream of
//! 2024-11-05.
//!
//! The live part of a session, with its calls and streams, is in `sessions`. The methods are implemented by the
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
