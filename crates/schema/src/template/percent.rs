//! Percent-encoding.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Decodes percent escapes once; returns `None` if an escape is invalid or the result is not UTF-8.
#[must_use]
pub fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (hex_digit(bytes.next()?)?, hex_digit(bytes.next()?)?);
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Returns the normal form of a URI, or of a URI template: equivalent URIs have the same normal form, which is ASCII.
///
/// Characters beyond ASCII are percent-encoded, letters, digits and `-._~` are not, the digits of escapes are capital
/// letters, and the scheme is in small letters. Escapes of other characters stay, because `%2F` is not a `/`; so do
/// invalid escapes.
/// Source: RFC 3986, 6.2.2.1 and 6.2.2.2; RFC 6570, 3.1.
#[must_use]
pub fn normal_uri(uri: &str) -> Cow<'_, str> {
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme = uri.bytes().take_while(in_scheme).count();
    let scheme = uri
        .split_at_checked(scheme)
        .filter(|(_, rest)| rest.starts_with(':'));
    let (scheme, rest) = scheme.unwrap_or(("", uri));
    let is_normal = !scheme.bytes().any(|byte| byte.is_ascii_uppercase())
        && rest.bytes().all(|byte| byte.is_ascii() && byte != b'%');
    if is_normal {
        return Cow::Borrowed(uri);
    }
    let mut out = scheme.to_ascii_lowercase();
    out.reserve(rest.len());
    let mut bytes = rest.as_bytes();
    while let [byte, after @ ..] = bytes {
        bytes = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..])
                if let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) =>
            {
                bytes = after;
                match high << 4 | low {
                    plain if is_unreserved(plain) => out.push(char::from(plain)),
                    other => write_escape(other, &mut out),
                }
            }
            _ if byte.is_ascii() => out.push(char::from(*byte)),
            _ => write_escape(*byte, &mut out),
        }
    }
    Cow::Owned(out)
}

/// Percent-encodes a value as the URI template `{variable}` would. ASCII letters, digits and `-._~` are left unchanged.
/// Source: RFC 6570, 3.2.2.
#[must_use]
pub fn percent_encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    write_percent_encoded(value, false, &mut encoded);
    encoded
}

/// Percent-encodes a string so that [`decode`] restores it. Reserved characters are left unencoded if `keep_reserved`
/// is `true`.
pub fn write_percent_encoded(text: &str, keep_reserved: bool, out: &mut String) {
    for byte in text.bytes() {
        let reserved = b":/?#[]@!$&'()*+,;=";
        if is_unreserved(byte) || (keep_reserved && reserved.contains(&byte)) {
            out.push(char::from(byte));
        } else {
            write_escape(byte, out);
        }
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// Returns `true` for a character that has the same meaning with and without an escape.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b'.')
}

fn write_escape(byte: u8, out: &mut String) {
    let _ = write!(out, "%{byte:02X}");
}
