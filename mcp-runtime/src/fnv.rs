//! A map whose keys are short: hashing them costs less than with what `std` has.
//!
//! The hash has no secret, so it is only for keys that nobody can choose to be alike to harm others: names of the server's
//! own, random ids, and ids by which a client numbers what it asks, of which it may have few at a time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by short keys.
pub(crate) type FnvMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// The hash of these bytes.
pub(crate) fn fnv<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes.into_iter().copied().fold(Fnv::default(), Fnv::step).0
}

/// FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(u64);

impl Fnv {
    fn step(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        *self = bytes.iter().copied().fold(*self, Self::step);
    }

    fn finish(&self) -> u64 {
        // A map tells keys apart by the highest bits before it compares them, and the last byte hardly reaches those.
        self.0 ^ (self.0 << 17)
    }
}
