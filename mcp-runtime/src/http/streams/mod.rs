//! Resumable event streams: the events of a session, which outlive the connections that carry them.
//!
//! The session that owns a stream is left to `sessions`, and copies of streams at other instances are, too.
//!
//! Specification: 2025-11-25, basic/transports, "Resumability and Redelivery".

mod event_log;
pub(super) mod session_stream;
pub(super) mod stream_reader;
