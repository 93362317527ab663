//! The keys of a seal.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit as _;
use sha2::{Digest as _, Sha256};

use crate::random::random;

pub(super) const KEY_ID: usize = 4;

/// A key that seals `requestState`: 32 unpredictable bytes.
///
/// A key is written as base64 (in either alphabet) or as 64 hexadecimal digits. `openssl rand -base64 32` generates
/// one.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingKey([u8; 32]);

impl SealingKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a key. Returns `None` if the text does not encode exactly 32 bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = if text.len() == 64 {
            (0..32)
                .map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok())
                .collect::<Option<Vec<u8>>>()?
        } else {
            let text = text.trim_end_matches('=');
            let text = text.replace('+', "-").replace('/', "_");
            URL_SAFE_NO_PAD.decode(text).ok()?
        };
        bytes.try_into().ok().map(Self)
    }

    /// Generates a key from the system's source of random bytes.
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }

    /// Returns the key as base64, which [`parse`](Self::parse) reads. Keep it secret.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Returns the key id. Each state contains the id of the key that sealed it.
    fn id(&self) -> [u8; KEY_ID] {
        let mut named = b"mcp state key id".to_vec();
        named.extend_from_slice(&self.0);
        let hash = Sha256::digest(&named);
        *hash.first_chunk().unwrap_or(&[0; KEY_ID])
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

/// Sealing keys that can be replaced while the server runs, for
/// [`Backend::sealing_keys`](crate::backend::Backend::sealing_keys). Clones share their keys.
#[derive(Clone)]
pub struct SealingKeys(Arc<RwLock<Arc<[SealCipher]>>>);

/// A key that is ready for use.
pub(super) struct SealCipher {
    pub(super) id: [u8; KEY_ID],
    pub(super) cipher: XChaCha20Poly1305,
}

impl SealingKeys {
    /// Creates a list of keys. The first key seals; any of them can open. If there are none, a random key is created
    /// for this process.
    #[must_use]
    pub fn new(keys: &[SealingKey]) -> Self {
        let own = [SealingKey::random()];
        let keys = if keys.is_empty() { &own } else { keys };
        Self(Arc::new(RwLock::new(Self::prepared(keys))))
    }

    /// Replaces the keys. An empty list has no effect. Before a new key is put first, all instances of the server must
    /// have it, so that they can open what it seals.
    pub fn replace(&self, keys: &[SealingKey]) {
        if !keys.is_empty() {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = Self::prepared(keys);
        }
    }

    fn prepared(keys: &[SealingKey]) -> Arc<[SealCipher]> {
        let prepared = keys.iter().map(|key| SealCipher {
            id: key.id(),
            cipher: XChaCha20Poly1305::new(&key.0.into()),
        });
        prepared.collect()
    }

    pub(super) fn current(&self) -> Arc<[SealCipher]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKeys({})", self.current().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_the_usual_spellings() {
        let key = SealingKey::from_bytes(*b"0123456789abcdefghijklmnopqrst\xff\xfe");
        for text in [
            key.to_base64(),
            URL_SAFE_NO_PAD.encode(key.0),
            key.0
                .iter()
                .fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
            format!(" {}\n", STANDARD.encode(key.0)),
        ] {
            assert_eq!(SealingKey::parse(&text), Some(key.clone()), "{text}");
        }
        for text in [
            "",
            "secret",
            &"a".repeat(63),
            &"z".repeat(64),
            &STANDARD.encode([0; 31]),
        ] {
            assert_eq!(SealingKey::parse(text), None, "{text}");
        }
        assert_eq!(format!("{key:?}"), "SealingKey(…)");
    }
}
