//! File digests in the format that skill entries use.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the digest of a file: `sha256:` and 64 lowercase hexadecimal digits.
#[must_use]
pub fn digest(contents: &[u8]) -> String {
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(contents) {
        // Writing to a `String` cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

#[test]
fn a_digest_is_that_of_the_bytes() {
    assert_eq!(
        digest(b"abc"),
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}
