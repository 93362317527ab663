//! Legacy requests, which rely on a handshake. In the 2025 protocol versions, such requests belong to a session; in
//! 2024-11-05, they belong to an event stream.
//!
//! The live part of a session, with its calls and streams, is in `sessions`. The dispatcher implements the methods.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; 2024-11-05, basic/transports, "HTTP with SSE".

pub(super) mod get;
pub(super) mod handshake;
pub(super) mod legacy_sse;
pub(super) mod post;
