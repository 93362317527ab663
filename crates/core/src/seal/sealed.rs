//! Sealing with keys, and the keys: how they are derived, rotated and shared.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};

use crate::random::random;
use crate::seal::SealError;

const EXPIRY: usize = 8;

const NONCE: usize = 24;

/// Seals and opens states.
pub struct Seal {
    /// The first key seals states. Any of the keys can open them.
    keys: SealingKeys,
    lifetime: Duration,
}

impl Seal {
    #[must_use]
    pub const fn new(keys: SealingKeys, lifetime: Duration) -> Self {
        Self { keys, lifetime }
    }

    /// Seals a call's state. With the keys and lengths in use, this never returns `None`.
    #[must_use]
    pub fn seal(&self, binding: &[u8; 32], plain: &[u8], now: Duration) -> Option<String> {
        self.seal_until(binding, plain, now.saturating_add(self.lifetime))
    }

    /// Seals data that expires at the given time.
    #[must_use]
    pub fn seal_until(&self, binding: &[u8; 32], plain: &[u8], expiry: Duration) -> Option<String> {
        let keys = self.keys.current();
        let key = keys.first()?;
        let expiry = expiry.as_secs();
        let mut state = Vec::with_capacity(KEY_ID + EXPIRY + NONCE + plain.len() + 16);
        state.extend_from_slice(&key.id);
        state.extend_from_slice(&expiry.to_be_bytes());
        let aad = [&state, binding.as_slice()].concat();
        let nonce: [u8; NONCE] = random();
        let payload = Payload {
            msg: plain,
            aad: &aad,
        };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        state.extend_from_slice(&nonce);
        state.extend_from_slice(&sealed);
        Some(URL_SAFE_NO_PAD.encode(state))
    }

    /// Opens a state.
    ///
    /// # Errors
    ///
    /// Returns the reason if the state is refused.
    pub fn open(
        &self,
        binding: &[u8; 32],
        state: &str,
        now: Duration,
    ) -> Result<Vec<u8>, SealError> {
        let state = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| SealError::Malformed)?;
        let (head, rest) = state
            .split_at_checked(KEY_ID + EXPIRY)
            .ok_or(SealError::Malformed)?;
        let (nonce, sealed) = rest
            .split_first_chunk::<NONCE>()
            .ok_or(SealError::Malformed)?;
        let (id, expiry) = head.split_at_checked(KEY_ID).ok_or(SealError::Malformed)?;
        let aad = [head, binding.as_slice()].concat();
        let mut refused = SealError::UnknownKey;
        for key in &*self.keys.current() {
            if key.id.as_slice() != id {
                continue;
            }
            let payload = Payload {
                msg: sealed,
                aad: &aad,
            };
            if let Ok(plain) = key.cipher.decrypt(&XNonce::from(*nonce), payload) {
                let expiry = expiry.try_into().map_or(0, u64::from_be_bytes);
                if now.as_secs() > expiry {
                    return Err(SealError::Expired);
                }
                return Ok(plain);
            }
            refused = SealError::Foreign;
        }
        Err(refused)
    }
}

/// Computes a collision-resistant digest.
#[must_use]
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

const KEY_ID: usize = 4;

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
/// `Backend::sealing_keys`. Clones share their keys.
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
    mod sealed {
        use proptest::prelude::*;

        use crate::seal::sealed::*;
        use crate::seal::{Binding, SealingKey};

        const NOW: Duration = Duration::from_hours(500_000);
        const LIFETIME: Duration = Duration::from_mins(10);

        fn ring(keys: &[u8]) -> Seal {
            let keys: Vec<_> = keys
                .iter()
                .map(|key| SealingKey::from_bytes([*key; 32]))
                .collect();
            Seal::new(SealingKeys::new(&keys), LIFETIME)
        }

        fn binding() -> Binding<'static> {
            Binding {
                server: "s",
                principal: "p",
                method: "tools/call",
                name: "t",
                arguments: r#"{"a":1}"#,
            }
        }

        #[test]
        fn sealing_keys_are_rotated_without_losing_running_calls() {
            let bound = binding().digest();
            let state = ring(&[1]).seal(&bound, b"plain", NOW).unwrap();
            assert_eq!(ring(&[2, 1]).open(&bound, &state, NOW).unwrap(), b"plain");
            assert_eq!(
                ring(&[2]).open(&bound, &state, NOW),
                Err(SealError::UnknownKey)
            );
            assert!(
                SealError::UnknownKey
                    .into_error()
                    .message
                    .contains("sealing_keys")
            );
            let state = ring(&[2, 1]).seal(&bound, b"plain", NOW).unwrap();
            assert_eq!(
                ring(&[1]).open(&bound, &state, NOW),
                Err(SealError::UnknownKey)
            );
            assert_eq!(
                ring(&[]).open(&bound, &state, NOW),
                Err(SealError::UnknownKey)
            );
        }

        #[test]
        fn keys_are_replaced_while_the_server_runs() {
            let (one, two) = (
                SealingKey::from_bytes([1; 32]),
                SealingKey::from_bytes([2; 32]),
            );
            let keys = SealingKeys::new(std::slice::from_ref(&one));
            let (seal, bound) = (Seal::new(keys.clone(), LIFETIME), binding().digest());
            let state = seal.seal(&bound, b"plain", NOW).unwrap();
            keys.replace(&[]);
            assert!(seal.open(&bound, &state, NOW).is_ok());
            keys.replace(&[two.clone(), one]);
            assert!(seal.open(&bound, &state, NOW).is_ok());
            let later = seal.seal(&bound, b"plain", NOW).unwrap();
            keys.replace(&[two]);
            assert!(seal.open(&bound, &later, NOW).is_ok());
            assert_eq!(seal.open(&bound, &state, NOW), Err(SealError::UnknownKey));
        }

        #[test]
        fn a_state_expires() {
            let (seal, bound) = (ring(&[1]), binding().digest());
            let state = seal.seal(&bound, b"plain", NOW).unwrap();
            assert!(seal.open(&bound, &state, NOW + LIFETIME).is_ok());
            let later = NOW + LIFETIME + Duration::from_secs(1);
            assert_eq!(seal.open(&bound, &state, later), Err(SealError::Expired));
        }

        /// A change to a state, or to the call for which it is opened.
        #[derive(Clone, Debug)]
        enum Mutation {
            Bit(usize, u8),
            Cut(usize),
            Append(String),
            /// Joins the start of this state and the end of another.
            Splice(usize),
            Principal,
            Tool,
            Arguments,
            Server,
            Method,
            /// Delivers the state this many seconds too late.
            Late(u64),
        }

        fn mutations() -> impl Strategy<Value = Mutation> {
            prop_oneof![
                (any::<usize>(), 0..8_u8).prop_map(|(at, bit)| Mutation::Bit(at, bit)),
                any::<usize>().prop_map(Mutation::Cut),
                "[A-Za-z0-9_=+/ -]{1,12}".prop_map(Mutation::Append),
                any::<usize>().prop_map(Mutation::Splice),
                Just(Mutation::Principal),
                Just(Mutation::Tool),
                Just(Mutation::Arguments),
                Just(Mutation::Server),
                Just(Mutation::Method),
                (1..1_000_000_u64).prop_map(Mutation::Late),
            ]
        }

        proptest! {
            // Covers: MRTR-08, MRTR-09
            #[test]
            fn any_change_of_a_state_is_refused(
                plain in proptest::collection::vec(any::<u8>(), 0..200),
                other in proptest::collection::vec(any::<u8>(), 0..200),
                mutation in mutations(),
                // Another instance opens the state, with either the same key or that key and another one.
                keys in prop::sample::select(vec![&[1_u8][..], &[2, 1], &[1, 2]]),
            ) {
                let (seal, opener, mut bound) = (ring(&[1]), ring(keys), binding());
                let state = seal.seal(&bound.digest(), &plain, NOW).unwrap();
                // The other instance seals a second state. Its first key may be the same.
                let second = opener.seal(&bound.digest(), &other, NOW).unwrap();
                let mut now = NOW + LIFETIME;
                prop_assert_eq!(opener.open(&bound.digest(), &state, now).unwrap(), plain);
                prop_assert_eq!(opener.open(&bound.digest(), &second, now).unwrap(), other);
                let mut changed = state.clone();
                match mutation {
                    Mutation::Bit(at, bit) => {
                        let mut bytes = state.clone().into_bytes();
                        let at = at % bytes.len();
                        bytes[at] ^= 1 << bit;
                        match String::from_utf8(bytes) {
                            Ok(text) => changed = text,
                            Err(_) => return Ok(()),
                        }
                    }
                    Mutation::Cut(at) => changed.truncate(at % state.len()),
                    Mutation::Append(tail) => changed.push_str(&tail),
                    Mutation::Splice(at) => {
                        let at = 1 + at % (state.len().min(second.len()) - 1);
                        changed = format!("{}{}", &state[..at], &second[at..]);
                        // Splicing within a common prefix yields the other state unchanged.
                        prop_assume!(changed != state && changed != second);
                    }
                    Mutation::Principal => bound.principal = "q",
                    Mutation::Tool => bound.name = "u",
                    Mutation::Arguments => bound.arguments = r#"{"a":2}"#,
                    Mutation::Server => bound.server = "z",
                    Mutation::Method => bound.method = "prompts/get",
                    Mutation::Late(seconds) => now += Duration::from_secs(seconds),
                }
                prop_assert!(opener.open(&bound.digest(), &changed, now).is_err());
            }
        }
    }

    mod keys {
        use crate::seal::sealed::*;

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
}
