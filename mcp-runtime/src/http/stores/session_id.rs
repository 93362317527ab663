//! Session ids, which are as confidential as passwords, because knowing an id is enough to use the session.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::fnv::FnvHasher;

/// Generates an unpredictable id: 256 random bits.
pub(in crate::http) fn random_id() -> String {
    crate::random::random_id::<32>()
}

/// A map keyed by ids that this server generated.
pub(in crate::http) type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdSuffixHasher>>;

/// Hashes only the end of an id, which is as random as the rest.
#[derive(Default)]
pub(in crate::http) struct IdSuffixHasher(FnvHasher);

impl Hasher for IdSuffixHasher {
    fn write(&mut self, id: &[u8]) {
        self.0.write(id.last_chunk::<12>().map_or(id, |end| end));
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns `true` if `id` has the form of a generated id. Stores are never queried for other values.
pub(in crate::http) fn is_valid_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // Checks every byte without an early exit so that the processor can check many bytes at a time.
    id.len() == 43 && id.bytes().fold(true, |all, byte| all & is_plain(byte))
}
