//! Resumable event streams, which carry a session's events and outlive individual connections.
//!
//! The sessions that own streams, and the copies of streams on other instances, are in `sessions`.
//!
//! Specification: 2025-11-25, basic/transports, "Resumability and Redelivery".

mod event_log;
pub(super) mod session_stream;
