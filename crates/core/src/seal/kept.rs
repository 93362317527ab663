//! States that remain in this process. The client holds a random handle to each of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::time::Duration;

use crate::random::random_id;
use crate::seal::SealError;
use crate::sync::lock;

/// Maximum number of calls whose state is kept between rounds. When this is exceeded, the oldest state is dropped.
const MAX_KEPT_STATES: usize = 1_024;

/// Keeps states in memory.
#[derive(Debug)]
pub struct Seal {
    kept: Mutex<HashMap<String, KeptCallState>>,
    lifetime: Duration,
}

#[derive(Debug)]
struct KeptCallState {
    binding: [u8; 32],
    plain: Vec<u8>,
    expiry: Duration,
}

impl Seal {
    /// Returns an empty store, whose entries are kept for this long.
    #[must_use]
    pub fn new(lifetime: Duration) -> Self {
        Self {
            kept: Mutex::default(),
            lifetime,
        }
    }

    /// Stores a call's state and returns a handle to it.
    pub(crate) fn seal(&self, binding: &[u8; 32], plain: &[u8], now: Duration) -> Option<String> {
        let mut kept = lock(&self.kept);
        if kept.len() >= MAX_KEPT_STATES {
            kept.retain(|_, kept| kept.expiry >= now);
        }
        if kept.len() >= MAX_KEPT_STATES {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.expiry);
            let oldest = oldest.map(|(handle, _)| handle.clone())?;
            kept.remove(&oldest);
        }
        let handle = random_id::<16>();
        let state = KeptCallState {
            binding: *binding,
            plain: plain.to_vec(),
            expiry: now.saturating_add(self.lifetime),
        };
        kept.insert(handle.clone(), state);
        Some(handle)
    }

    /// Returns the state to which a handle refers.
    pub(crate) fn open(
        &self,
        binding: &[u8; 32],
        state: &str,
        now: Duration,
    ) -> Result<Vec<u8>, SealError> {
        let kept = lock(&self.kept);
        let kept = kept.get(state).ok_or(SealError::Malformed)?;
        if kept.binding != *binding {
            return Err(SealError::Foreign);
        }
        if kept.expiry < now {
            return Err(SealError::Expired);
        }
        Ok(kept.plain.clone())
    }
}

/// Computes a digest that is used only within this process. Only handles ever leave the process.
#[must_use]
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    for (index, part) in hash.chunks_mut(8).enumerate() {
        let mut hasher = DefaultHasher::new();
        index.hash(&mut hasher);
        bytes.hash(&mut hasher);
        part.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    hash
}

#[cfg(test)]
mod tests {
    use crate::seal::kept::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_state_is_opened_only_for_its_call_and_before_it_expires() {
        let seal = Seal::new(MINUTE);
        let (mine, other) = (hash(b"mine"), hash(b"other"));
        let handle = seal.seal(&mine, b"state", MINUTE).unwrap();
        assert_eq!(seal.open(&mine, &handle, 2 * MINUTE).unwrap(), b"state");
        let opened = seal.open(&other, &handle, MINUTE);
        assert_eq!(opened, Err(SealError::Foreign));
        let late = 2 * MINUTE + Duration::from_nanos(1);
        assert_eq!(seal.open(&mine, &handle, late), Err(SealError::Expired));
        let opened = seal.open(&mine, "unknown", MINUTE);
        assert_eq!(opened, Err(SealError::Malformed));
    }

    #[test]
    fn the_oldest_state_is_evicted_when_the_table_is_full() {
        let (seal, binding) = (Seal::new(MINUTE), hash(b""));
        let at = |second| Duration::from_secs(second);
        let seal_at = |second| seal.seal(&binding, b"", at(second)).unwrap();
        let handles: Vec<String> = (1..=1_024).map(|_| seal_at(2)).collect();
        let oldest = seal_at(1);
        let newest = seal_at(3);
        assert_eq!(
            seal.open(&binding, &oldest, at(3)),
            Err(SealError::Malformed)
        );
        assert!(seal.open(&binding, &newest, at(3)).is_ok());
        let is_open = |handle: &&String| seal.open(&binding, handle, at(3)).is_ok();
        assert_eq!(handles.iter().filter(is_open).count(), 1_023);
    }

    #[test]
    fn different_bytes_have_different_digests() {
        assert_eq!(hash(b"one"), hash(b"one"));
        assert_ne!(hash(b"one"), hash(b"two"));
        let digest = hash(b"one");
        assert_ne!(digest[..8], digest[8..16]);
    }
}
