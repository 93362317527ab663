//! Reads the parts of a message one by one, for callers that know which parts to expect.

use std::borrow::Cow;

use super::Scan;
use crate::jsonrpc::text::decode_leading;

impl<'a> Scan<'a> {
    /// Returns the remaining text, starting at the next byte that is not whitespace.
    #[inline]
    pub fn rest(&mut self) -> &'a str {
        self.peek();
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips bytes that another reader has already read as a value.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Reads the next value, of any kind. Returns its text without surrounding whitespace.
    #[inline]
    pub fn next_value(&mut self) -> Option<&'a str> {
        let start = self.next_value_start();
        self.read_value(0)?;
        self.text.get(start..self.at)
    }

    /// Reads the next value, which must be a string. Returns the decoded string.
    pub fn next_string(&mut self) -> Option<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return self.fail_syntax();
        }
        let inside = self.text.get(self.at + 1..)?;
        match decode_leading(inside) {
            Ok((string, length)) => {
                self.at += length + 2;
                Some(string)
            }
            Err(at) => {
                self.at += at + 1;
                self.fail_syntax()
            }
        }
    }

    /// Reads the next value, which must be a number. Returns its text.
    pub fn next_number(&mut self) -> Option<&'a str> {
        self.peek();
        let start = self.at;
        self.read_number()?;
        self.text.get(start..self.at)
    }

    /// Reads the members of the next value, which must be an object. Calls `each` with every name; `each` must then
    /// read the corresponding value.
    pub fn members(
        &mut self,
        each: impl FnMut(&mut Self, Cow<'a, str>) -> Option<()>,
    ) -> Option<()> {
        let name = |scan: &mut Self| {
            let start = scan.at + 1;
            match scan.read_plain_key() {
                Some(name) => scan.text.get(start..start + name.len()).map(Cow::Borrowed),
                None => scan.read_other_key(),
            }
        };
        self.read_object_by(0, name, each)
    }

    /// Reads the items of the next value, which must be an array. Calls `each` before every item; `each` must then read
    /// the item.
    pub fn items(&mut self, each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.read_array(0, each)
    }

    /// Returns the text from `start` to the current position.
    #[must_use]
    pub fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Returns the number of bytes read so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }
}
