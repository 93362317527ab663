//! Reads strings, numbers and literals.

use super::{Scan, Span};
use crate::jsonrpc::text::{hex4, plain};

impl Scan<'_> {
    /// Reads a string, including its quotes, that starts exactly at the current position.
    pub(crate) fn string(&mut self) -> Option<Span> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let Some((b'"', inside)) = rest.split_first() else {
            return self.syntax();
        };
        let length = plain(inside);
        if inside.get(length) != Some(&b'"') {
            return self.escaped_string(length);
        }
        self.at = start + length + 2;
        self.span(start)
    }

    /// Reads a string that starts exactly at the current position and whose first `length` bytes have already been
    /// checked.
    #[cold]
    fn escaped_string(&mut self, mut length: usize) -> Option<Span> {
        let start = self.at;
        self.escaped += 1;
        self.at += 1;
        loop {
            self.at += length;
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            match rest.first() {
                Some(b'"') => {
                    self.at += 1;
                    return self.span(start);
                }
                Some(b'\\') => self.escape()?,
                _ => return self.syntax(),
            }
            length = plain(self.text.as_bytes().get(self.at..).unwrap_or_default());
        }
    }

    fn escape(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        match bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Some(())
            }
            Some(b'u') => {
                let rest = bytes.get(self.at..).unwrap_or_default();
                match hex4(rest, 2) {
                    Some(0xD800..=0xDBFF) => {
                        let pair = rest.get(6..8) == Some(b"\\u")
                            && matches!(hex4(rest, 8), Some(0xDC00..=0xDFFF));
                        if !pair {
                            return self.syntax();
                        }
                        self.at += 12;
                        Some(())
                    }
                    None | Some(0xDC00..=0xDFFF) => self.syntax(),
                    Some(_) => {
                        self.at += 6;
                        Some(())
                    }
                }
            }
            _ => self.syntax(),
        }
    }

    /// Reads a number. It must fit into an `f64`, so that all later readers see the same value.
    pub(super) fn number(&mut self) -> Option<()> {
        let start = self.at;
        self.take_any(b"-");
        if !self.take_any(b"0") {
            self.digits()?;
        }
        // Most numbers are integers.
        let next = self.text.as_bytes().get(self.at);
        let has_exponent =
            matches!(next, Some(b'.' | b'e' | b'E')) && self.fraction_and_exponent()?;
        // The largest `f64` has 309 digits.
        if has_exponent || self.at - start > 300 {
            let text = self.text.get(start..self.at)?;
            if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                return self.syntax();
            }
        }
        Some(())
    }

    /// Reads the fraction and the exponent of a number. Returns `true` if there is an exponent.
    #[cold]
    fn fraction_and_exponent(&mut self) -> Option<bool> {
        if self.take_any(b".") {
            self.digits()?;
        }
        let has_exponent = self.take_any(b"eE");
        if has_exponent {
            self.take_any(b"+-");
            self.digits()?;
        }
        Some(has_exponent)
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        let count = end.unwrap_or(rest.len());
        if count == 0 {
            return self.syntax();
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

    pub(super) fn literal(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.syntax();
        }
        self.at += word.len();
        Some(())
    }
}
