//! Percent-encoding.

use std::fmt::Write as _;

/// Decodes percent escapes once; returns `None` if an escape is invalid or the result is not UTF-8.
#[must_use]
pub fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    let digit = |byte: Option<u8>| {
        byte.and_then(|byte| char::from(byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
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
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~' | b'.')
            || (keep_reserved && reserved.contains(&byte))
        {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
