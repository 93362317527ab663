//! The failures to create state that have been logged. Every call that needs the state tries again and fails in the same
//! way, for example while a database is down, and a line for each of them would fill the log.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::lock::lock;

/// Maximum number of failures to remember.
const FAILURES: usize = 64;

/// The failures that have been logged, each with the reference that identifies it in the log.
#[derive(Debug, Default)]
pub(super) struct LoggedStateFailures(Mutex<HashMap<String, String>>);

impl LoggedStateFailures {
    /// Returns the reference of a failure. Calls `log`, which returns a new reference, if the failure has not been logged
    /// yet.
    pub(super) fn reference(&self, message: String, log: impl FnOnce() -> String) -> String {
        if let Some(known) = lock(&self.0).get(&message) {
            return known.clone();
        }
        let reference = log();
        let mut logged = lock(&self.0);
        if logged.len() >= FAILURES {
            logged.clear();
        }
        logged.insert(message, reference.clone());
        reference
    }
}
