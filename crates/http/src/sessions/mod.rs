//! Legacy sessions on this instance: their running calls, their streams, how long both are kept, and messages to and
//! from other instances.
//!
//! A session's data is in `stores`. Requests that start, use and end a session are handled by `legacy`.

pub(super) mod event_transfer;
pub(super) mod live_session;
pub(super) mod other_instances;
mod sealed_sessions;
pub(super) mod session_registry;
pub(super) mod session_storage;

#[cfg(test)]
mod tests;
