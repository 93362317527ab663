//! Icon sources.
//!
//! Specification: 2026-07-28, basic, "Icons".

use super::RuleVerdict;
use crate::types::Icon;

/// Checks that the source of an icon is a URI that clients may fetch and display.
#[must_use]
pub const fn icon(src: &str) -> RuleVerdict {
    if Icon::is_source(src) {
        return RuleVerdict::HOLDS;
    }
    RuleVerdict::wrong(&[
        "icon `",
        src,
        "` is not an `https:` or `data:` URI, and clients display no others; write one, as in `https://example.com/icon.png`",
    ])
}
