//! Members of objects and items of lists, appended with the commas between them.

use serde::Serialize;

use crate::jsonrpc::write_string;

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

/// Any value. Ours always can be written; if one cannot, `null` keeps the message whole.
pub(super) fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
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
