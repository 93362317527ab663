//! Reads strings, numbers and literals.

use super::{Scan, Span};
use crate::jsonrpc::text::{plain_length, string_end};

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
        match string_end(self.text.as_bytes(), start + 1 + length) {
            Ok(end) => {
                self.at = end + 1;
                self.span(start)
            }
            Err(at) => {
                self.at = at;
                self.fail_syntax()
            }
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
