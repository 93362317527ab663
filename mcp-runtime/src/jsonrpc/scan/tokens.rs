//! Strings, numbers and words.

use super::{Scan, Span};
use crate::jsonrpc::text::{hex4, plain};

impl Scan<'_> {
    /// A string that starts exactly here, with its quotes.
    pub(super) fn string(&mut self) -> Option<Span> {
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

    /// A string that starts exactly here, of which `length` bytes need no second look.
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

    /// A number, which has to be one that can be held: everybody who reads it later then reads the same.
    pub(super) fn number(&mut self) -> Option<()> {
        let start = self.at;
        self.whole_or_not()?;
        // The largest numbers have 309 digits; most are shorter, and have no exponent.
        let text = self.text.get(start..self.at)?;
        let may_exceed = text.len() > 300 || text.contains(['e', 'E']);
        let is_held = !may_exceed || text.parse::<f64>().is_ok_and(f64::is_finite);
        if is_held { Some(()) } else { self.syntax() }
    }

    fn whole_or_not(&mut self) -> Option<()> {
        self.follows(b"-");
        if !self.follows(b"0") {
            self.digits()?;
        }
        // Most numbers are whole.
        let next = self.text.as_bytes().get(self.at);
        if !matches!(next, Some(b'.' | b'e' | b'E')) {
            return Some(());
        }
        if self.follows(b".") {
            self.digits()?;
        }
        if self.follows(b"eE") {
            self.follows(b"+-");
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start {
            return self.syntax();
        }
        Some(())
    }

    fn follows(&mut self, any: &[u8]) -> bool {
        let follows = self
            .text
            .as_bytes()
            .get(self.at)
            .is_some_and(|byte| any.contains(byte));
        self.at += usize::from(follows);
        follows
    }

    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.syntax();
        }
        self.at += word.len();
        Some(())
    }
}
