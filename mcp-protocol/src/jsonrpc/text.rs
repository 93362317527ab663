//! Decodes and encodes JSON strings.
//!
//! Text is examined in blocks of 16 bytes, and copied in blocks and runs.

use std::borrow::Cow;

use wide::u8x16;

use crate::jsonrpc::NotAString;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Number of bytes examined in one step.
const BLOCK: usize = 16;
/// Number of consecutive blocks without a special byte after which text is searched in larger steps.
const CLEAN: usize = 8;

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    // Most strings end within the first word, so only this part is inlined. The inlined part does not use any of the
    // caller's registers.
    match bytes.split_first_chunk() {
        Some((chunk, after)) => match first_special(*chunk) {
            Some(at) => at,
            None => long_plain_length(after).saturating_add(chunk.len()),
        },
        None => long_plain_length(bytes),
    }
}

/// Like `plain_length`, but for the text between escapes, which is usually longer than a name and shorter than a line.
#[inline]
pub(super) fn plain_run_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for block in 0..4 {
        let Some((bytes, after)) = rest.split_first_chunk() else {
            break;
        };
        if let Some(at) = first_special_of(bytes) {
            return block * BLOCK + at;
        }
        rest = after;
    }
    bytes.len() - rest.len() + long_plain_length(rest)
}

/// Like `plain_length`, but efficient even for long runs of plain bytes.
#[inline(never)]
fn long_plain_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut clean = 0;
    while let Some((block, after)) = rest.split_first_chunk::<BLOCK>() {
        if let Some(at) = first_special_of(block) {
            return bytes.len() - rest.len() + at;
        }
        rest = after;
        clean += 1;
        if clean == CLEAN {
            // This is long text rather than a name.
            while let Some((chunk, after)) = rest.split_first_chunk::<64>()
                && !chunk
                    .iter()
                    .fold(false, |any, byte| any | is_special(*byte))
            {
                rest = after;
            }
        }
    }
    if let Some((chunk, after)) = rest.split_first_chunk() {
        if let Some(at) = first_special(*chunk) {
            return bytes.len() - rest.len() + at;
        }
        rest = after;
    }
    let last = rest.iter().position(|byte| is_special(*byte));
    bytes.len() - rest.len() + last.unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Returns the position of the first special byte in a block.
#[inline]
fn first_special_of(block: &[u8; BLOCK]) -> Option<usize> {
    let bytes = u8x16::new(*block);
    let is_control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    let is_quote = bytes.simd_eq(u8x16::splat(b'"'));
    let is_backslash = bytes.simd_eq(u8x16::splat(b'\\'));
    let marks = (is_control | is_quote | is_backslash).to_bitmask();
    (marks != 0).then(|| marks.trailing_zeros() as usize)
}

/// Returns the position of the first special byte in a word.
#[inline]
fn first_special(chunk: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(chunk);
    // Each term marks the bytes that it is meant to find, but may also mark bytes above the lowest match, so only the
    // lowest mark is reliable.
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * 0x22);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ (ONES * 0x5C);
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    let marks = (control | quote | backslash) & HIGH;
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}

/// Returns the number written as four hexadecimal digits at `at`.
pub(super) fn parse_hex4(bytes: &[u8], at: usize) -> Option<u32> {
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
pub(super) fn without_quotes(json: &str) -> Result<&str, NotAString> {
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
const DECODED: usize = 64;

/// Decodes a JSON string whose opening quote has been read. Returns the string and the length of its JSON up to the
/// closing quote, or the position of the first invalid byte.
pub(super) fn decode_leading(json: &str) -> Result<(Cow<'_, str>, usize), usize> {
    let length = plain_length(json.as_bytes());
    let (head, rest) = json.split_at_checked(length).ok_or(length)?;
    if rest.starts_with('"') {
        return Ok((Cow::Borrowed(head), length));
    }
    let mut text = String::with_capacity(DECODED.max(length.saturating_mul(2)).min(json.len()));
    text.push_str(head);
    let more = decode(rest, &mut text).map_err(|at| length + at)?;
    if rest.as_bytes().get(more) == Some(&b'"') {
        Ok((Cow::Owned(text), length + more))
    } else {
        Err(length + more)
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
        text.push_str(head);
        let at = at + length;
        let kind = match after.as_bytes() {
            [] | [b'"', ..] => return Ok(at),
            [b'\\', kind, ..] => kind,
            _ => return Err(at),
        };
        let (character, length) = match kind {
            b'n' => ("\n", 2),
            b'"' => ("\"", 2),
            b'\\' => ("\\", 2),
            b'/' => ("/", 2),
            b't' => ("\t", 2),
            b'r' => ("\r", 2),
            b'b' => ("\u{8}", 2),
            b'f' => ("\u{c}", 2),
            b'u' => {
                let (character, length) = unicode_escape(after.as_bytes()).ok_or(at)?;
                text.push(character);
                ("", length)
            }
            _ => return Err(at),
        };
        text.push_str(character);
        rest = after.get(length..).ok_or(at)?;
    }
}

/// Reads an escape such as `\u00e9`, or two escapes that form a surrogate pair. Returns the character and the number of
/// bytes read.
#[cold]
fn unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
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

/// Length above which the exact space for a string is reserved, provided that the string makes up most of the output.
const LARGE: usize = 64 << 10;
/// Space reserved after a large string, which is sufficient for the rest of most messages.
const AFTER: usize = 256;

/// Appends `text` as a JSON string, including the quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    if rest.len() > LARGE.max(out.len()) {
        // Reserves space for some escapes and for the rest of the message, because two copies of a large buffer are
        // needed temporarily while it grows.
        out.reserve_exact(rest.len() + rest.len() / 32 + AFTER);
    } else {
        out.reserve(rest.len() + 2);
    }
    out.push(b'"');
    loop {
        rest = write_plain(out, rest);
        let Some((&byte, after)) = rest.split_first() else {
            break;
        };
        write_escape(out, byte);
        rest = after;
    }
    out.push(b'"');
}

/// Appends text up to the first special byte. Returns the rest, which is either empty or begins with that byte.
#[inline]
fn write_plain<'a>(out: &mut Vec<u8>, mut rest: &'a [u8]) -> &'a [u8] {
    // Copying a whole block takes a single instruction, whereas copying a few bytes takes a function call. Most runs
    // fit in two blocks.
    for _ in 0..2 {
        let Some((block, after)) = rest.split_first_chunk::<BLOCK>() else {
            break;
        };
        let end = out.len();
        out.extend_from_slice(block);
        if let Some(at) = first_special_of(block) {
            out.truncate(end + at);
            return rest.get(at..).unwrap_or_default();
        }
        rest = after;
    }
    let (head, after) = rest.split_at(plain_length(rest));
    out.extend_from_slice(head);
    after
}

/// Appends the escape for a special byte.
fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0xF)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests;
