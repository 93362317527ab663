//! Members of objects and items of lists, appended with the commas between them.

use std::borrow::Cow;

use serde::Serialize;

use crate::jsonrpc::write_string;

/// JSON on one line, as messages must be.
///
/// Strings hold no line ends as they stand, so every one of them is white space.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// Text that is JSON already. All text that user code brings along goes through here or through [`json`].
pub(super) fn raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(one_line(json).as_bytes());
}

/// A comma, unless a bracket was just opened.
pub(super) fn comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// The name of the next member, which needs no escapes.
pub(super) fn name(out: &mut Vec<u8>, name: &str) {
    comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

pub(super) fn string(out: &mut Vec<u8>, key: &str, value: &str) {
    name(out, key);
    write_string(out, value);
}

pub(super) fn optional(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        string(out, key, value);
    }
}

pub(super) fn integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A finite number, as short as it can be.
pub(super) fn number(out: &mut Vec<u8>, value: f64) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        integer(out, value as i64);
    } else {
        json(out, &value);
    }
}

/// Any value, on one line. Ours always can be written; if one cannot, `null` keeps the message whole.
pub(super) fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
    // JSON that was kept as text is written as it stands.
    let written = out.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

pub(super) fn list_of<T>(
    out: &mut Vec<u8>,
    key: &str,
    items: &[T],
    mut each: impl FnMut(&mut Vec<u8>, &T),
) {
    name(out, key);
    out.push(b'[');
    for item in items {
        comma(out);
        each(out, item);
    }
    out.push(b']');
}
