//! Decoding and encoding of JSON strings.

use std::borrow::Cow;

use crate::jsonrpc::NotAString;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
#[must_use]
pub fn plain(bytes: &[u8]) -> usize {
    // Most strings end within the first word, so only this part is inlined. It uses none of the caller's registers.
    match bytes.split_first_chunk() {
        Some((chunk, after)) => match first_special(*chunk) {
            Some(at) => at,
            None => after_plain(after).saturating_add(chunk.len()),
        },
        None => after_plain(bytes),
    }
}

/// Like `plain`, but efficient even for long runs of plain bytes.
#[inline(never)]
fn after_plain(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut words = 0;
    while let Some((chunk, after)) = rest.split_first_chunk() {
        if let Some(at) = first_special(*chunk) {
            return bytes.len() - rest.len() + at;
        }
        rest = after;
        words += 1;
        if words == 8 {
            // This is long text rather than a name. The compiler turns the loop into a few vector instructions.
            while let Some((chunk, after)) = rest.split_first_chunk::<32>()
                && !chunk
                    .iter()
                    .fold(false, |any, byte| any | is_special(*byte))
            {
                rest = after;
            }
        }
    }
    let last = rest.iter().position(|byte| is_special(*byte));
    bytes.len() - rest.len() + last.unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Returns the position of the first special byte.
#[inline]
fn first_special(chunk: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(chunk);
    // Each term marks the bytes that it is meant to find, but it may also mark some bytes above the lowest of them.
    // Only the lowest mark is reliable.
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * 0x22);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ (ONES * 0x5C);
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    let marks = (control | quote | backslash) & HIGH;
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}

/// Returns the number written as four hexadecimal digits at `at`.
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
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
    if plain(inner.as_bytes()) == inner.len() {
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

fn unescape(mut rest: &str) -> Option<String> {
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(rest.get(..at)?);
        let after = rest.get(at + 1..)?;
        let kind = after.bytes().next()?;
        let mut used = 1;
        text.push(match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = hex4(after.as_bytes(), 1)?;
                used = 5;
                if (0xD800..0xDC00).contains(&unit) {
                    if after.as_bytes().get(5..7) != Some(b"\\u") {
                        return None;
                    }
                    let low = hex4(after.as_bytes(), 7)?;
                    let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                    used = 11;
                    char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + low)?
                } else {
                    char::from_u32(unit)?
                }
            }
            _ => return None,
        });
        rest = after.get(used..)?;
    }
    text.push_str(rest);
    Some(text)
}

/// Length above which space for a string is reserved exactly, provided that the string makes up most of the output.
const LARGE: usize = 64 << 10;
/// Space reserved after a large string, enough for the rest of most messages.
const AFTER: usize = 256;

/// Appends `text` as a JSON string, including the quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let mut rest = text.as_bytes();
    if rest.len() > LARGE.max(out.len()) {
        // Reserves space for some escapes and for the rest of the message, because growing a large buffer temporarily
        // requires two copies of it.
        out.reserve_exact(rest.len() + rest.len() / 32 + AFTER);
    } else {
        out.reserve(rest.len() + 2);
    }
    out.push(b'"');
    loop {
        let (before, from) = rest.split_at(plain(rest));
        out.extend_from_slice(before);
        let Some((&byte, after)) = from.split_first() else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 0xF)]);
            }
        }
        rest = after;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unquoting_undoes_every_escape() {
        for (json, text) in [
            (r#""""#, Some("")),
            (r#""plain""#, Some("plain")),
            (r#""tools\/call""#, Some("tools/call")),
            (r#""\"\\\b\f\n\r\t""#, Some("\"\\\u{8}\u{c}\n\r\t")),
            (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
            (r#""\ud83d""#, None),
            (r#""\ud83dx""#, None),
            (r#""\ud83d\u0041""#, None),
            (r#""\u12""#, None),
            (r#""\x""#, None),
            (r#""\""#, None),
            ("\"", None),
            ("5", None),
            ("null", None),
        ] {
            assert_eq!(unquote(json).ok().as_deref(), text, "{json}");
        }
    }

    proptest! {
        #[test]
        fn writing_agrees_with_serde(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(serde_json::to_vec(&text).unwrap(), out.clone());
            let json = String::from_utf8(out).unwrap();
            prop_assert_eq!(unquote(&json).unwrap(), text);
        }

        #[test]
        fn plain_bytes_are_counted(plains in 0..100_usize, bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let bytes = [vec![b'a'; plains], bytes].concat();
            let expected = bytes.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').unwrap_or(bytes.len());
            prop_assert_eq!(plain(&bytes), expected);
        }
    }
}
