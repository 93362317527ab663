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

    /// Reads a number of any size. Whether a type can hold it is known only where it is used.
    #[inline]
    pub(super) fn read_number(&mut self) -> Option<()> {
        self.take_any(b"-");
        if !self.take_any(b"0") {
            self.read_digits()?;
        }
        // Most numbers are integers.
        match self.text.as_bytes().get(self.at) {
            Some(b'.' | b'e' | b'E') => self.read_fraction_and_exponent(),
            _ => Some(()),
        }
    }

    #[cold]
    fn read_fraction_and_exponent(&mut self) -> Option<()> {
        if self.take_any(b".") {
            self.read_digits()?;
        }
        if self.take_any(b"eE") {
            self.take_any(b"+-");
            self.read_digits()?;
        }
        Some(())
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
