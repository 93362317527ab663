//! Unpredictable bytes from the operating system.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) use getrandom::fill;

/// Returns random bytes.
///
/// # Panics
///
/// Panics if the operating system cannot provide random bytes. Only the handler or request that needs them fails; the
/// server continues.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = fill(&mut bytes) {
        std::panic::panic_any(format!(
            "the operating system returned no random bytes: {error}"
        ));
    }
    bytes
}

/// Returns an id of `N` random bytes, as URL-safe base64.
pub(crate) fn random_id<const N: usize>() -> String {
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
}
