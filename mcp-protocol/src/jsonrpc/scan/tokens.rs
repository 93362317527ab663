//! Reads strings, numbers and literals.

use super::{Scan, Span};
use crate::jsonrpc::text::{parse_hex4, plain_length, plain_run_length};

impl Scan<'_> {
    /// Reads a string, including its quotes, that starts exactly at the current position.
    pub(in crate::jsonrpc) fn read_string(&mut self) -> Option<Span> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let Some((b'"', inside)) = rest.split_first() else {
            return self.fail_syntax();
        };
        let length = plain_length(inside);
        if inside.get(length) != Some(&b'"') {
            return self.read_escaped_string(length);
        }
        self.at = start + length + 2;
        self.span(start)
    }

    /// Reads a string that starts exactly at the current position and whose first `length` bytes have already been
    /// checked.
    #[cold]
    fn read_escaped_string(&mut self, length: usize) -> Option<Span> {
        let start = self.at;
        self.escaped += 1;
        let bytes = self.text.as_bytes();
        let mut at = start + 1 + length;
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return self.span(start);
                }
                Some(b'\\') => {
                    let Some(length) = escape_length(bytes, at) else {
                        self.at = at;
                        return self.fail_syntax();
                    };
                    at += length;
                }
                _ => {
                    self.at = at;
                    return self.fail_syntax();
                }
            }
            at += plain_run_length(bytes.get(at..).unwrap_or_default());
        }
    }

    /// Reads a number. The number must fit into an `f64` so that all later readers see the same value.
    #[inline]
    pub(super) fn read_number(&mut self) -> Option<()> {
        let start = self.at;
        self.take_any(b"-");
        if !self.take_any(b"0") {
            self.read_digits()?;
        }
        // Most numbers are integers.
        let next = self.text.as_bytes().get(self.at);
        let has_exponent =
            matches!(next, Some(b'.' | b'e' | b'E')) && self.read_fraction_and_exponent()?;
        // The largest `f64` has 309 digits.
        if has_exponent || self.at - start > 300 {
            let text = self.text.get(start..self.at)?;
            if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                return self.fail_syntax();
            }
        }
        Some(())
    }

    /// Reads the fraction and the exponent of a number. Returns `true` if there is an exponent.
    #[cold]
    fn read_fraction_and_exponent(&mut self) -> Option<bool> {
        if self.take_any(b".") {
            self.read_digits()?;
        }
        let has_exponent = self.take_any(b"eE");
        if has_exponent {
            self.take_any(b"+-");
            self.read_digits()?;
        }
        Some(has_exponent)
    }

    fn read_digits(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        let count = end.unwrap_or(rest.len());
        if count == 0 {
            return self.fail_syntax();
        }
        self.at += count;
        Some(())
    }

    fn take_any(&mut self, any: &[u8]) -> bool {
        let follows = self
            .text
            .as_bytes()
            .get(self.at)
            .is_some_and(|byte| any.contains(byte));
        self.at += usize::from(follows);
        follows
    }

    pub(super) fn read_literal(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.fail_syntax();
        }
        self.at += word.len();
        Some(())
    }
}

/// Returns the length of the escape at this position, or `None` if it is invalid.
#[inline]
fn escape_length(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => unicode_escape_length(bytes.get(at..)?),
        _ => None,
    }
}

#[cold]
fn unicode_escape_length(escape: &[u8]) -> Option<usize> {
    match parse_hex4(escape, 2)? {
        0xD800..=0xDBFF => {
            let is_pair = escape.get(6..8) == Some(b"\\u")
                && matches!(parse_hex4(escape, 8), Some(0xDC00..=0xDFFF));
            is_pair.then_some(12)
        }
        0xDC00..=0xDFFF => None,
        _ => Some(6),
    }
}
