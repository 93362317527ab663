//! Reads and validates JSON in place, in a single pass without recursion or allocation.
//!
//! Accepts exactly the JSON defined by RFC 8259, except that an escaped surrogate must be part of a pair.
//! [`message`](super::message) uses it to read whole messages, and the runtime to read the arguments of calls;
//! [`text`](super::text) decodes strings.

use std::borrow::Cow;
use std::num::NonZeroU32;

use crate::jsonrpc::text::{decode_leading, plain_length, string_end, unquote};

/// Maximum depth. Open brackets are tracked in a single number, using one bit for each bracket.
pub(super) const MAX_DEPTH: usize = u128::BITS as usize;

/// The reason why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFailure {
    /// The text is not valid JSON from this byte on.
    Syntax(usize),
    /// The nesting is deeper than the limit.
    Deep,
    /// The text contains more values than the limit allows.
    Long,
}

/// Limits that apply while a message or batch is read.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Maximum nesting depth. Values above 128 have the same effect as 128.
    pub max_depth: usize,
    /// Maximum number of values, counting every key, item and scalar.
    pub max_values: usize,
    /// Maximum length of a string id, in bytes.
    pub max_id_bytes: usize,
    /// Maximum number of entries in a batch.
    pub max_batch: usize,
}

#[cfg(any(test, fuzzing))]
impl ParseLimits {
    /// Limits that are far higher than any ordinary message requires.
    pub(crate) const ROOMY: Self = Self {
        max_depth: 128,
        max_values: 100_000,
        max_id_bytes: 1 << 10,
        max_batch: 100,
    };
}

/// A value's position in the text. `Option<Span>` is no larger than `Span`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    /// Never zero, because no value ends where the text begins.
    end: NonZeroU32,
}

impl Span {
    pub(super) fn slice(self, text: &str) -> &str {
        let range = self.start as usize..self.end.get() as usize;
        text.get(range).unwrap_or_default()
    }

    /// Returns this position relative to the part of the text that begins at `start`, or `None` if the position is
    /// outside that part.
    pub(super) fn within(self, start: usize) -> Option<Self> {
        let start = u32::try_from(start).ok()?;
        Some(Self {
            start: self.start.checked_sub(start)?,
            end: NonZeroU32::new(self.end.get().checked_sub(start)?)?,
        })
    }

    /// Returns this position relative to the outer text, in which the current text begins at `start`.
    pub(super) fn after(self, start: usize) -> Option<Self> {
        let start = u32::try_from(start).ok()?;
        Some(Self {
            start: self.start.checked_add(start)?,
            end: self.end.checked_add(start)?,
        })
    }
}

/// A JSON reader and its position in the text.
///
/// Each method that reads returns `None` if the text is not as expected, and [`failure`](Self::failure) then returns
/// the reason.
#[derive(Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    depth: usize,
    /// The reason why reading stopped. Stored here so that results can be returned in registers.
    fail: ScanFailure,
    /// Number of strings that contain a backslash.
    escaped: usize,
}

impl<'a> Scan<'a> {
    /// Creates a reader that enforces limits, for text that does not come from a message that has already been checked.
    #[must_use]
    pub fn within(text: &'a str, limits: &ParseLimits) -> Self {
        Self {
            nodes: limits.max_values,
            depth: limits.max_depth.min(MAX_DEPTH),
            ..Self::new(text)
        }
    }

    /// Creates a reader for text that is expected to be a single string, number or literal.
    pub(super) fn scalar(text: &'a str) -> Self {
        Self {
            nodes: 1,
            depth: 0,
            ..Self::new(text)
        }
    }

    /// Creates a reader for text from a message on which the limits have already been enforced. Each value that is read
    /// may be nested up to 128 levels deep.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            nodes: usize::MAX,
            depth: MAX_DEPTH,
            fail: ScanFailure::Syntax(0),
            escaped: 0,
        }
    }

    /// Returns the next byte that is not whitespace, without consuming it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        // Messages rarely contain whitespace between tokens.
        let byte = *self.text.as_bytes().get(self.at)?;
        if byte > b' ' {
            return Some(byte);
        }
        self.peek_past_space()
    }

    #[cold]
    fn peek_past_space(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Checks that nothing but whitespace remains.
    pub(super) fn expect_end(&mut self) -> Option<()> {
        match self.peek() {
            None => Some(()),
            Some(_) => self.fail_syntax(),
        }
    }

    /// Returns the number of strings read so far that contain a backslash. If it is zero, no string needs to be
    /// unescaped.
    pub(super) fn escaped_string_count(&self) -> usize {
        self.escaped
    }

    /// Returns the number of values that are still allowed.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// If the text `value` occurs at the current position, skips it and returns `true`. `value` must already have been
    /// read at this depth, and must consist of `nodes` values.
    pub(super) fn skip_if_next(&mut self, value: &str, nodes: usize) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_here = !value.is_empty() && rest.starts_with(value.as_bytes());
        match self.nodes.checked_sub(nodes) {
            Some(left) if is_here => {
                self.nodes = left;
                self.at += value.len();
                true
            }
            _ => false,
        }
    }

    /// Returns the reason why reading failed.
    #[must_use]
    pub fn failure(&self) -> ScanFailure {
        self.fail
    }

    /// Reads an object that is inside `depth` open brackets. Calls `each` with every unescaped key, as bytes; `each`
    /// must then read the corresponding value.
    pub(super) fn read_object(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self, &[u8]) -> Option<()>,
    ) -> Option<()> {
        let key = |scan: &mut Self| match scan.read_plain_key() {
            Some(name) => Some(Cow::Borrowed(name)),
            None => Some(Cow::Owned(scan.read_other_key()?.into_owned().into_bytes())),
        };
        self.read_object_by(depth, key, |scan, key| each(scan, &key))
    }

    /// Reads an object, using `key` to read each key.
    #[inline]
    fn read_object_by<K>(
        &mut self,
        depth: usize,
        key: impl Fn(&mut Self) -> Option<K>,
        mut each: impl FnMut(&mut Self, K) -> Option<()>,
    ) -> Option<()> {
        self.count_node()?;
        self.open_bracket(depth, b'{')?;
        if self.take_byte(b'}') {
            return Some(());
        }
        loop {
            self.count_node()?;
            let key = key(self)?;
            each(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect_byte(b'}'),
            }
        }
    }

    /// Reads an array that is inside `depth` open brackets. Calls `each` before every item; `each` must then read the
    /// item.
    pub(super) fn read_array(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.count_node()?;
        self.open_bracket(depth, b'[')?;
        if self.take_byte(b']') {
            return Some(());
        }
        loop {
            each(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect_byte(b']'),
            }
        }
    }

    /// Reads any value that is inside `depth` open brackets. Returns its position without surrounding whitespace.
    #[inline]
    pub(super) fn read_value(&mut self, depth: usize) -> Option<Span> {
        // Most values are strings, which do not need a stack of brackets.
        if self.peek() == Some(b'"') {
            self.count_node()?;
            return self.read_string();
        }
        let start = self.at;
        self.skip_value(depth)?;
        self.span(start)
    }

    /// Returns the position of the next value, in bytes.
    #[inline]
    pub fn next_value_start(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Returns the span from `start` to the current position.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "messages of 4 GiB and more were refused"
    )]
    pub(super) fn span(&self, start: usize) -> Option<Span> {
        Some(Span {
            start: start as u32,
            end: NonZeroU32::new(self.at as u32)?,
        })
    }

    // Kept separate from `read_value`, which mostly reads strings and needs few registers to do so.
    #[inline(never)]
    fn skip_value(&mut self, outside: usize) -> Option<()> {
        // One bit per open bracket, with the innermost bracket in the lowest bit. The bit is set if the bracket opened
        // an object.
        let mut brackets: u128 = 0;
        let mut open = 0_usize;
        loop {
            self.count_node()?;
            let complete = match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let object = bracket == b'{';
                    self.open_bracket(outside.saturating_add(open), bracket)?;
                    if self.take_byte(if object { b'}' } else { b']' }) {
                        true
                    } else {
                        brackets = (brackets << 1) | u128::from(object);
                        open += 1;
                        if object {
                            self.skip_key()?;
                        }
                        false
                    }
                }
                Some(b'"') => self.read_string().map(|_| true)?,
                Some(b'-' | b'0'..=b'9') => self.read_number().map(|()| true)?,
                Some(b't') => self.read_literal("true").map(|()| true)?,
                Some(b'f') => self.read_literal("false").map(|()| true)?,
                Some(b'n') => self.read_literal("null").map(|()| true)?,
                _ => return self.fail_syntax(),
            };
            if !complete {
                continue;
            }
            loop {
                if open == 0 {
                    return Some(());
                }
                let object = brackets & 1 == 1;
                if self.take_byte(b',') {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.expect_byte(if object { b'}' } else { b']' })?;
                brackets >>= 1;
                open -= 1;
            }
        }
    }

    fn open_bracket(&mut self, outside: usize, bracket: u8) -> Option<()> {
        self.expect_byte(bracket)?;
        if outside >= self.depth {
            self.fail = ScanFailure::Deep;
            return None;
        }
        Some(())
    }

    #[inline]
    fn count_node(&mut self) -> Option<()> {
        let Some(left) = self.nodes.checked_sub(1) else {
            self.fail = ScanFailure::Long;
            return None;
        };
        self.nodes = left;
        Some(())
    }

    /// Reads a key in the usual form, without escapes or whitespace, and the colon after it.
    #[inline]
    fn read_plain_key(&mut self) -> Option<&'a [u8]> {
        let (first, inside) = self.text.as_bytes().get(self.at..)?.split_first()?;
        let (name, rest) = inside.split_at_checked(plain_length(inside))?;
        if *first != b'"' || !rest.starts_with(b"\":") {
            return None;
        }
        self.at += name.len() + 3;
        Some(name)
    }

    /// Reads a key in any other form and the colon after it. Returns the unescaped key.
    #[cold]
    fn read_other_key(&mut self) -> Option<Cow<'a, str>> {
        self.peek();
        let key = self.read_string()?;
        self.expect_byte(b':')?;
        Some(unquote(key.slice(self.text)).unwrap_or_default())
    }

    #[inline]
    fn skip_key(&mut self) -> Option<()> {
        self.count_node()?;
        match self.read_plain_key() {
            Some(_) => Some(()),
            None => self.read_other_key().map(drop),
        }
    }

    #[inline]
    fn take_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn expect_byte(&mut self, byte: u8) -> Option<()> {
        if self.take_byte(byte) {
            Some(())
        } else {
            self.fail_syntax()
        }
    }

    #[cold]
    fn fail_syntax<T>(&mut self) -> Option<T> {
        self.fail = ScanFailure::Syntax(self.at);
        None
    }
}

// --- Reads strings, numbers and literals.

impl Scan<'_> {
    /// Reads a string, including its quotes, that starts exactly at the current position.
    pub(super) fn read_string(&mut self) -> Option<Span> {
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
    fn read_number(&mut self) -> Option<()> {
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

    fn read_literal(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.fail_syntax();
        }
        self.at += word.len();
        Some(())
    }
}

// --- Reads the parts of a message one by one, for callers that know which parts to expect.

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
