//! Appends object members and array items, with commas between them.

use std::borrow::Cow;

use serde::Serialize;

use crate::jsonrpc::write_string;

/// Returns the JSON on a single line, as required in messages.
///
/// Line breaks in strings are escaped, so every literal line break is whitespace.
#[must_use]
pub fn one_line(json: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// Appends text that is already JSON. All JSON text from user code is written by this function or [`write_json`].
pub(super) fn write_raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(one_line(json).as_bytes());
}

/// Appends a comma unless a bracket has just been opened.
pub(super) fn write_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// Appends the name of the next member. The name must not need escaping.
pub(super) fn write_name(out: &mut Vec<u8>, name: &str) {
    write_comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

pub(super) fn write_string_member(out: &mut Vec<u8>, key: &str, value: &str) {
    write_name(out, key);
    write_string(out, value);
}

pub(super) fn write_optional_string(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        write_string_member(out, key, value);
    }
}

pub(super) fn write_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a finite number in its shortest form.
pub(super) fn write_number(out: &mut Vec<u8>, value: f64) {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < MAX_EXACT_INTEGER {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        write_integer(out, value as i64);
    } else {
        write_json(out, &value);
    }
}

/// Appends any value on a single line. Values created by the framework can always be serialized; if serialization ever
/// fails, `null` is written so that the message remains valid.
pub(super) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
    // JSON that was stored as text is written unchanged and may contain line breaks.
    let written = out.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

pub(super) fn write_list<T>(
    out: &mut Vec<u8>,
    key: &str,
    items: &[T],
    mut each: impl FnMut(&mut Vec<u8>, &T),
) {
    write_name(out, key);
    out.push(b'[');
    for item in items {
        write_comma(out);
        each(out, item);
    }
    out.push(b']');
}
