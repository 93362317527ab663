//! The built-in listener: accepts connections, gives up on slow clients, and stops gracefully.
//!
//! The requests of a connection are left to `service`.

pub(super) mod accept;
mod connection;
pub(super) mod serve;
mod timed_stream;
