//! Legacy sessions at this instance: their running calls, their streams, and how long both are kept.
//!
//! A session's data is in `stores`. Requests that start, use and end a session are handled by `legacy`.

pub(super) mod calls;
pub(super) mod event_transfer;
pub(super) mod http_session;
pub(super) mod live_sessions;
mod live_streams;
mod maintenance;
mod retention;
mod saving;
pub(super) mod session_lookup;

#[cfg(test)]
mod tests;
