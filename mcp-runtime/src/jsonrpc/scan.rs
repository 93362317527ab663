//! Validates JSON in place: one pass, no recursion, nothing allocated.
//!
//! Accepts exactly what RFC 8259 does, except that an escaped surrogate needs its other half. What the text means is for
//! [`message`](super::message); strings are turned into text in [`text`](super::text).

use crate::jsonrpc::text::{hex4, plain};
use crate::limits::Limits;

/// Open brackets are kept in the bits of one number.
pub(super) const MOST_DEPTH: usize = u128::BITS as usize;

/// Why a text was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fail {
    /// Not JSON, from this byte on.
    Syntax(usize),
    /// Nested deeper than the limit.
    Deep,
    /// More values than the limit.
    Long,
}

/// A place in a text; empty for what is not there, because no JSON value is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(super) fn of(self, text: &str) -> Option<&str> {
        let range = self.start as usize..self.end as usize;
        text.get(range).filter(|found| !found.is_empty())
    }
}

/// A string as it is in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'a> {
    /// With its quotes.
    pub(super) json: &'a str,
    /// Whether it holds a backslash.
    pub(super) escaped: bool,
}

/// A place in a text.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    depth: usize,
    /// Why reading stopped, once it did. Kept here, what is read comes back in registers.
    fail: Fail,
    /// Whether the last string held a backslash.
    escaped: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, limits: &Limits) -> Self {
        Self {
            text,
            at: 0,
            nodes: limits.nodes,
            depth: limits.depth.min(MOST_DEPTH),
            fail: Fail::Syntax(0),
            escaped: false,
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The next byte that is no white space, which stays unread.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        // Between the tokens of a message there is hardly ever any.
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

    /// Nothing but white space is left.
    pub(super) fn end(&mut self) -> Option<()> {
        match self.peek() {
            None => Some(()),
            Some(_) => self.syntax(),
        }
    }

    /// Why something could not be read.
    pub(super) fn failure(&self) -> Fail {
        self.fail
    }

    /// Reads an object, inside `depth` others. `each` is called with every key and must read the value.
    pub(super) fn object(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self, Quoted<'a>) -> Option<()>,
    ) -> Option<()> {
        self.node()?;
        self.open(depth, b'{')?;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            let key = self.key()?;
            each(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect(b'}'),
            }
        }
    }

    /// Reads an array, inside `depth` others. `each` is called with every item.
    pub(super) fn array(&mut self, depth: usize, mut each: impl FnMut(&'a str)) -> Option<()> {
        self.node()?;
        self.open(depth, b'[')?;
        if self.take(b']') {
            return Some(());
        }
        loop {
            each(self.value(depth.saturating_add(1))?);
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect(b']'),
            }
        }
    }

    /// Reads any value, inside `depth` open brackets, and gives its text without white space around it.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Option<&'a str> {
        // Most values are strings: these need no stack.
        if self.peek() == Some(b'"') {
            self.node()?;
            return self.string();
        }
        self.other_value(depth)
    }

    fn other_value(&mut self, depth: usize) -> Option<&'a str> {
        let start = self.at;
        self.skip(depth)?;
        Some(self.since(start))
    }

    /// Where the next value starts.
    pub(super) fn mark(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The place of the text from `start` up to here.
    pub(super) fn span(&self, start: usize) -> Span {
        // A message that is too long for this has been refused.
        Span {
            start: u32::try_from(start).unwrap_or_default(),
            end: u32::try_from(self.at).unwrap_or_default(),
        }
    }

    /// The text from `start` up to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn skip(&mut self, outside: usize) -> Option<()> {
        // One bit per open bracket, the innermost lowest: set for an object.
        let mut brackets: u128 = 0;
        let mut open = 0_usize;
        loop {
            self.node()?;
            let complete = match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let object = bracket == b'{';
                    self.open(outside.saturating_add(open), bracket)?;
                    if self.take(if object { b'}' } else { b']' }) {
                        true
                    } else {
                        brackets = (brackets << 1) | u128::from(object);
                        open += 1;
                        if object {
                            self.key()?;
                        }
                        false
                    }
                }
                Some(b'"') => self.string().map(|_| true)?,
                Some(b'-' | b'0'..=b'9') => self.number().map(|()| true)?,
                Some(b't') => self.word("true").map(|()| true)?,
                Some(b'f') => self.word("false").map(|()| true)?,
                Some(b'n') => self.word("null").map(|()| true)?,
                _ => return self.syntax(),
            };
            if !complete {
                continue;
            }
            loop {
                if open == 0 {
                    return Some(());
                }
                let object = brackets & 1 == 1;
                if self.take(b',') {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                self.expect(if object { b'}' } else { b']' })?;
                brackets >>= 1;
                open -= 1;
            }
        }
    }

    fn open(&mut self, outside: usize, bracket: u8) -> Option<()> {
        self.expect(bracket)?;
        if outside >= self.depth {
            self.fail = Fail::Deep;
            return None;
        }
        Some(())
    }

    #[inline]
    fn node(&mut self) -> Option<()> {
        let Some(left) = self.nodes.checked_sub(1) else {
            self.fail = Fail::Long;
            return None;
        };
        self.nodes = left;
        Some(())
    }

    #[inline]
    fn key(&mut self) -> Option<Quoted<'a>> {
        self.node()?;
        self.peek();
        let json = self.string()?;
        let escaped = self.escaped;
        self.expect(b':')?;
        Some(Quoted { json, escaped })
    }

    /// A string that starts exactly here.
    #[inline]
    fn string(&mut self) -> Option<&'a str> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some((b'"', inside)) = rest.split_first() else {
            return self.syntax();
        };
        let length = plain(inside);
        if inside.get(length) != Some(&b'"') {
            return self.escaped_string(length);
        }
        let start = self.at;
        self.at += length + 2;
        self.escaped = false;
        self.text.get(start..self.at)
    }

    /// A string that starts exactly here, of which `length` bytes need no second look.
    #[cold]
    fn escaped_string(&mut self, mut length: usize) -> Option<&'a str> {
        let start = self.at;
        self.escaped = true;
        self.at += 1;
        loop {
            self.at += length;
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            match rest.first() {
                Some(b'"') => {
                    self.at += 1;
                    return Some(self.since(start));
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

    fn number(&mut self) -> Option<()> {
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

    fn word(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.syntax();
        }
        self.at += word.len();
        Some(())
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.take(byte) {
            Some(())
        } else {
            self.syntax()
        }
    }

    #[cold]
    fn syntax<T>(&mut self) -> Option<T> {
        self.fail = Fail::Syntax(self.at);
        None
    }
}

/// The text of the member `id` of a request that is too deep or too long to be read in full.
///
/// Values are skipped by their brackets alone, so what is found here is only good for saying what is wrong. Nothing is found
/// in a response, or where there is more than one id.
pub(super) fn rescue_id(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    let (mut id, mut requests) = (None, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                at += 1;
                loop {
                    at += plain(bytes.get(at..)?);
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => return None,
                    }
                }
                let rest = text.get(at + 1..)?.trim_ascii_start();
                if let (1, Some(value)) = (depth, rest.strip_prefix(':')) {
                    match text.get(start..=at)? {
                        "\"method\"" => requests = true,
                        "\"result\"" | "\"error\"" => return None,
                        "\"id\"" if id.is_some() => return None,
                        "\"id\"" => id = Some(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut scan = Scan {
        text: id.filter(|_| requests && depth == 0)?,
        at: 0,
        nodes: 1,
        depth: 0,
        fail: Fail::Syntax(0),
        escaped: false,
    };
    scan.value(0)
}
