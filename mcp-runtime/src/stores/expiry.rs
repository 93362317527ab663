//! The order in which entries of a table expire.

use std::collections::BTreeSet;

use tokio::time::Instant;

/// The keys of a table in the order in which their entries expire.
#[derive(Debug)]
pub(crate) struct ExpiryOrder<K>(BTreeSet<(Instant, K)>);

impl<K> Default for ExpiryOrder<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord + Clone> ExpiryOrder<K> {
    pub(crate) fn insert(&mut self, expires: Instant, key: K) {
        self.0.insert((expires, key));
    }

    pub(crate) fn remove(&mut self, expires: Instant, key: &K) {
        self.0.remove(&(expires, key.clone()));
    }

    /// Returns the earliest time at which an entry expires.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(expires, _)| *expires)
    }

    /// Removes and returns a key whose entry has expired by `now`, or `None` if there are no more such keys.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<K> {
        self.0.first().filter(|(expires, _)| *expires <= now)?;
        self.0.pop_first().map(|(_, key)| key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
