//! Stores for session data and stream events: in memory, in a database, or with the client.
//!
//! A store only holds data and contains no logic. The live part of a session, with its calls and streams, is in
//! `sessions`.

#[cfg(feature = "testing")]
pub(super) mod contract;
pub(super) mod event_store;
#[cfg(feature = "sealing")]
mod sealed_sessions;
pub(super) mod session_storage;
pub(super) mod session_store;
