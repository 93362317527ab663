//! The built-in listener, which accepts connections, disconnects slow clients, and shuts down gracefully.
//!
//! The requests on a connection are handled by `service`.

mod connection;
pub(super) mod serve;
mod timed_stream;
