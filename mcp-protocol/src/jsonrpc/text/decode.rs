//! Decodes JSON strings, and finds where they end.

use std::borrow::Cow;

use super::byte_table;
use super::search::{BLOCK, plain_length, plain_run_length, special_marks};
use crate::jsonrpc::NotAString;

/// Returns the number written as four hexadecimal digits at `at`.
fn parse_hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(4)?)?;
    digits.iter().try_fold(0, |number, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some((number << 4) | value)
    })
}

/// Decodes a JSON string.
///
/// # Errors
///
/// Returns an error if the JSON value is not a string.
pub fn unquote(json: &str) -> Result<Cow<'_, str>, NotAString> {
    let inner = without_quotes(json)?;
    if plain_length(inner.as_bytes()) == inner.len() {
        return Ok(Cow::Borrowed(inner));
    }
    unescape(inner).map(Cow::Owned).ok_or(NotAString)
}

/// Returns the part of a JSON string between the quotes. If this part contains no backslash, it is the string's text.
///
/// # Errors
///
/// Returns an error if the JSON value is not a string.
pub(in crate::jsonrpc) fn without_quotes(json: &str) -> Result<&str, NotAString> {
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.ok_or(NotAString)
}

/// Decodes the text between the quotes of a JSON string. Returns `None` if it is not valid.
fn unescape(json: &str) -> Option<String> {
    let mut text = String::with_capacity(json.len());
    let end = decode(json, &mut text).ok()?;
    (end == json.len()).then_some(text)
}

/// Minimum capacity for a string with escapes, because its decoded length is not known in advance.
const MIN_DECODED_CAPACITY: usize = 64;
/// Length of JSON for all of which there is room when a string first grows, so that it grows once.
const AT_ONCE: usize = 2 << 10;

/// Decodes a JSON string whose opening quote has been read. Returns the string and the length of its JSON up to the
/// closing quote, or the position of the first invalid byte.
pub(in crate::jsonrpc) fn decode_leading(json: &str) -> Result<(Cow<'_, str>, usize), usize> {
    let length = plain_length(json.as_bytes());
    let (head, rest) = json.split_at_checked(length).ok_or(length)?;
    if rest.starts_with('"') {
        return Ok((Cow::Borrowed(head), length));
    }
    let mut text = String::with_capacity(
        MIN_DECODED_CAPACITY
            .max(length.saturating_mul(2))
            .min(json.len()),
    );
    text.push_str(head);
    let more = decode(rest, &mut text).map_err(|at| length + at)?;
    if rest.as_bytes().get(more) == Some(&b'"') {
        Ok((Cow::Owned(text), length + more))
    } else {
        Err(length + more)
    }
}

/// Returns the room to make for decoded JSON, given what its beginning suggests.
#[inline]
const fn room(suggested: usize, json: &str) -> usize {
    if json.len() <= AT_ONCE || suggested > json.len() {
        json.len()
    } else {
        suggested
    }
}

/// Appends the decoded text up to a quote or the end. Returns the number of bytes read, or the position of an invalid
/// byte.
fn decode(json: &str, text: &mut String) -> Result<usize, usize> {
    let mut rest = json;
    loop {
        let at = json.len() - rest.len();
        let length = plain_run_length(rest.as_bytes());
        let (head, after) = rest.split_at_checked(length).ok_or(at)?;
        if text.capacity() - text.len() <= length {
            // Growing fourfold copies less than doubling. No more can follow than the rest of the JSON.
            text.reserve(room((3 * text.len()).max(length + 1), rest));
        }
        text.push_str(head);
        let at = at + length;
        let kind = match after.as_bytes() {
            [] | [b'"', ..] => return Ok(at),
            [b'\\', kind, ..] => kind,
            _ => return Err(at),
        };
        let length = if let Some(character) = short_escape(*kind) {
            text.push(character);
            2
        } else {
            let (character, length) = unicode_escape(after.as_bytes()).ok_or(at)?;
            text.push(character);
            length
        };
        rest = after.get(length..).ok_or(at)?;
    }
}

/// The character for each escape of two bytes, by its second byte, or zero if there is no such escape.
const SHORT_ESCAPES: [u8; 256] = byte_table(&[
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'/', b'/'),
    (b'b', 0x08),
    (b'f', 0x0C),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
]);

/// Returns the character for an escape of two bytes whose second byte is `kind`.
#[inline]
fn short_escape(kind: u8) -> Option<char> {
    let character = SHORT_ESCAPES[usize::from(kind)];
    (character != 0).then_some(char::from(character & 0x7F))
}

/// Reads an escape such as `\u00e9`, or two escapes that form a surrogate pair. Returns the character and the number of
/// bytes read.
#[cold]
fn unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
    if escape.get(1) != Some(&b'u') {
        return None;
    }
    let unit = parse_hex4(escape, 2)?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Some((char::from_u32(unit)?, 6));
    }
    if escape.get(6..8) != Some(b"\\u") {
        return None;
    }
    let low = parse_hex4(escape, 8)?;
    let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    let character = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + low)?;
    Some((character, 12))
}

/// Returns the position of the quote that ends a JSON string, or the position of the first invalid byte or escape. The
/// search begins at `from`, which is inside the string, but not inside an escape.
pub(in crate::jsonrpc) fn string_end(json: &[u8], from: usize) -> Result<usize, usize> {
    let (blocks, tail) = json.get(from..).unwrap_or_default().as_chunks::<BLOCK>();
    let mut base = from;
    let mut resume = from;
    for block in blocks {
        if let Some(end) = end_in_block(json, base, special_marks(block), &mut resume) {
            return end;
        }
        base += BLOCK;
    }
    let mut last = [b' '; BLOCK];
    for (byte, from) in last.iter_mut().zip(tail) {
        *byte = *from;
    }
    end_in_block(json, base, special_marks(&last), &mut resume).unwrap_or(Err(json.len()))
}

/// Examines the special bytes in the block at `base`, beginning with the byte at `resume`. Returns `None` if the string
/// continues after the block, and sets `resume` to a later position if an escape does.
#[inline]
fn end_in_block(
    json: &[u8],
    base: usize,
    mut marks: u32,
    resume: &mut usize,
) -> Option<Result<usize, usize>> {
    while marks != 0 {
        let bit = marks.trailing_zeros();
        marks &= !(1 << bit);
        let at = base + bit as usize;
        if at < *resume {
            continue;
        }
        let special = json.get(at..).unwrap_or_default();
        let [b'\\', kind, ..] = special else {
            let is_end = special.first() == Some(&b'"');
            return Some(if is_end { Ok(at) } else { Err(at) });
        };
        let length = if short_escape(*kind).is_some() {
            2
        } else if let Some((_, length)) = unicode_escape(special) {
            length
        } else {
            return Some(Err(at));
        };
        *resume = at + length;
    }
    None
}
