//! Stores for session data and stream events: in memory, in a database, or with the client.
//!
//! A store only holds data and contains no logic. The live part of a session, with its calls and streams, is in
//! `sessions`.

#[cfg(feature = "testing")]
#[path = "../../../../crates/stores/src/session_contract.rs"]
pub(super) mod contract;
#[path = "../../../../crates/stores/src/event_store.rs"]
pub(super) mod event_store;
#[cfg(feature = "sealing")]
#[path = "../sessions/sealed_sessions.rs"]
mod sealed_sessions;
#[path = "../sessions/session_storage.rs"]
pub(super) mod session_storage;
#[path = "../../../../crates/stores/src/session_store.rs"]
pub(super) mod session_store;
