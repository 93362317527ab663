//! Unpredictable bytes, from which ids are made.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) use crate::host::fill_random as fill;

/// Returns random bytes.
///
/// # Panics
///
/// Panics if the host cannot provide random bytes. Only the handler or request that needs the bytes fails;
/// the server continues.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = fill(&mut bytes) {
        std::panic::panic_any(format!("there are no random bytes: {error}"));
    }
    bytes
}

/// A random id with 192 bits, as 32 characters of URL-safe base64, for types that give it a meaning. It does not begin
/// with a hyphen, because on a command line it would be read as an option.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RandomId(Arc<str>);

impl RandomId {
    /// Number of random bytes.
    const BYTES: usize = 24;
    /// Number of characters.
    const CHARACTERS: usize = Self::BYTES / 3 * 4;

    /// Generates an id.
    #[must_use]
    pub fn random() -> Self {
        loop {
            let id = random_id::<{ Self::BYTES }>();
            if !id.starts_with('-') {
                return Self(id.into());
            }
        }
    }

    /// Parses an id. Returns `None` if the text cannot be an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (text.len() == Self::CHARACTERS && text.chars().all(is_valid)).then(|| Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows only the first characters, because an id is all that a client needs to use something that belongs to an
/// anonymous caller.
impl fmt::Debug for RandomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.0.get(..6).unwrap_or_default())
    }
}

/// Returns an id made of `N` random bytes, encoded as URL-safe base64.
#[must_use]
pub fn random_id<const N: usize>() -> String {
    URL_SAFE_NO_PAD.encode(random::<N>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_random() {
        // The probability that this fails by chance is 1 in 2^122.
        assert!(random::<1_024>().chunks(16).all(|chunk| chunk != [0; 16]));
        assert_ne!(random_id::<16>(), random_id::<16>());
    }

    #[test]
    fn no_id_reads_as_an_option_on_a_command_line() {
        for _ in 0..2_000 {
            let id = RandomId::random();
            assert!(!id.as_str().starts_with('-'), "{}", id.as_str());
            assert_eq!(RandomId::parse(id.as_str()), Some(id));
        }
    }
}
