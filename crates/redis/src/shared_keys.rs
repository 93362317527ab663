//! Sealing keys as they are in Redis.

use std::sync::{Mutex, PoisonError};

use mcp_core::seal::{SealingKey, SealingKeys};

/// The keys, and the entries in Redis from which they were read.
pub(crate) struct SharedKeys {
    pub(crate) keys: SealingKeys,
    entries: Mutex<Vec<String>>,
}

impl SharedKeys {
    pub(crate) fn new() -> Self {
        Self {
            keys: SealingKeys::new(&[]),
            entries: Mutex::default(),
        }
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        let entries = self.entries.lock();
        entries.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the keys. Returns `None` if an entry is not a key.
    pub(crate) fn replace(&self, entries: Vec<String>) -> Option<()> {
        let keys = entries.iter().map(|entry| {
            let (_, text) = entry.split_once(' ')?;
            SealingKey::parse(text)
        });
        self.keys.replace(&keys.collect::<Option<Vec<_>>>()?);
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = entries;
        Some(())
    }
}
