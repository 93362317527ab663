//! Icon sources.
//!
//! Specification: 2026-07-28, basic, "Icons".

use super::RuleVerdict;

/// Checks that the source of an icon is a URI that clients may fetch and display: an `https:` or `data:` URI.
#[must_use]
pub const fn icon(src: &str) -> RuleVerdict {
    let bytes = src.as_bytes();
    // Only the start is checked, because `data:` URIs can be long.
    if (starts_with(bytes, b"https://") && bytes.len() > b"https://".len())
        || starts_with(bytes, b"data:")
    {
        return RuleVerdict::HOLDS;
    }
    RuleVerdict::wrong(&[
        "icon `",
        src,
        "` is not an `https:` or `data:` URI, the only kinds that clients display; use one such as `https://example.com/icon.png`",
    ])
}

const fn starts_with(text: &[u8], start: &[u8]) -> bool {
    match text.split_at_checked(start.len()) {
        Some((text, _)) => text.eq_ignore_ascii_case(start),
        None => false,
    }
}
