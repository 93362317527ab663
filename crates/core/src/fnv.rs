//! A map for short keys that uses a cheaper hash than `std`.
//!
//! The hash is not keyed, so use it only where clients cannot harm others by choosing keys that collide. Suitable keys
//! are names defined by the server, random ids, and the ids of a client's pending requests, which are few in number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map for short keys.
pub type FnvMap<K, V> = HashMap<K, V, BuildHasherDefault<FnvHasher>>;

/// Returns the hash of these bytes.
pub(crate) fn fnv<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes
        .into_iter()
        .copied()
        .fold(FnvHasher::default(), FnvHasher::step)
        .0
}

/// The 64-bit FNV-1a hash.
#[derive(Clone, Copy, Debug)]
pub struct FnvHasher(u64);

impl FnvHasher {
    fn step(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

impl Default for FnvHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for FnvHasher {
    fn write(&mut self, bytes: &[u8]) {
        *self = bytes.iter().copied().fold(*self, Self::step);
    }

    fn finish(&self) -> u64 {
        // A map uses the highest bits to distinguish keys before comparing them, but the last byte hardly affects those
        // bits.
        self.0 ^ (self.0 << 17)
    }
}
