//! Those in this process who wait for a task to change.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tokio::sync::Notify;

/// Number of groups of tasks; a change wakes those who wait for any task of its group.
const GROUPS: usize = 256;

pub(crate) struct Changes([Notify; GROUPS]);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Notify::new()))
    }

    /// Returns what is notified when a task changes, and perhaps when others do.
    pub(crate) fn of(&self, id: &[u8]) -> &Notify {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let group = usize::try_from(hasher.finish() % GROUPS as u64).unwrap_or_default();
        &self.0[group]
    }

    /// Wakes all, after changes may have been missed.
    pub(crate) fn wake_all(&self) {
        for group in &self.0 {
            group.notify_waiters();
        }
    }
}
