//! Loads of sessions, of which there is one for each request. Loads that begin at about the same time are one operation,
//! because sending a script costs more than what it does.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::error::RedisError;

/// Maximum number of sessions that one script loads, so that it does not keep others waiting.
const MAX_AT_ONCE: usize = 32;

/// Loads that have not been sent yet. Each task that has been started sends up to [`MAX_AT_ONCE`] of them.
#[derive(Default)]
pub(crate) struct WaitingLoads(Mutex<Vec<WaitingLoad>>);

pub(crate) struct WaitingLoad {
    pub(crate) id: Box<str>,
    /// The time to keep the session.
    pub(crate) keep: u64,
    pub(crate) known: Option<Arc<str>>,
    pub(crate) reply: oneshot::Sender<Result<LoadedSession, RedisError>>,
}

/// The result of a load.
pub(crate) enum LoadedSession {
    /// There is no such session.
    Unknown,
    /// The record has the known version.
    Unchanged,
    /// The record has another version. Contains the version and the record, in two lines.
    Changed(String),
}

impl WaitingLoads {
    /// Adds a load. Returns `true` if the caller has to start a task that sends loads.
    pub(crate) fn push(&self, load: WaitingLoad) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(load);
        waiting.len() % MAX_AT_ONCE == 1
    }

    pub(crate) fn take(&self) -> Vec<WaitingLoad> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.len().min(MAX_AT_ONCE);
        waiting.drain(..number).collect()
    }
}
