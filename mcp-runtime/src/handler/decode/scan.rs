//! Splits a JSON object into its members without decoding the values, and without recursion.

use std::borrow::Cow;
use std::collections::HashSet;

use mcp_schema::explain::{Fault, push_token};
use serde::de::IgnoredAny;

use super::{FAULTS, serde_message};
use crate::jsonrpc::plain_bytes;

/// The reason the argument object cannot be split.
#[derive(Debug)]
pub(super) enum ScanError {
    NotAnObject,
    Syntax(String),
}

impl ScanError {
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::NotAnObject => Fault::new("", "the arguments must be a JSON object"),
            Self::Syntax(message) => {
                Fault::new("", format!("the arguments are not valid JSON: {message}"))
            }
        }
    }
}

/// Splits an object. `entry` receives a name, the text starting at its value, and the position of that text. It returns
/// the length of the value in bytes, or `None` to stop. Returns the length of the object in bytes if its end was
/// reached.
pub(super) fn scan<'t>(
    text: &'t str,
    mut entry: impl FnMut(Cow<'t, str>, &'t str, usize) -> Result<Option<usize>, ScanError>,
) -> Result<Option<usize>, ScanError> {
    let bytes = text.as_bytes();
    let space = |mut at: usize| {
        while bytes
            .get(at)
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        {
            at += 1;
        }
        at
    };
    let expected = |what: &str| ScanError::Syntax(format!("expected {what}"));
    let mut at = space(0);
    if bytes.get(at) != Some(&b'{') {
        return Err(ScanError::NotAnObject);
    }
    at = space(at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok(Some(at + 1));
    }
    loop {
        if bytes.get(at) != Some(&b'"') {
            return Err(expected("a name in quotes"));
        }
        let (name, length) = read_name(text.get(at..).unwrap_or(""))?;
        at = space(at + length);
        if bytes.get(at) != Some(&b':') {
            return Err(expected("`:`"));
        }
        at = space(at + 1);
        match entry(name, text.get(at..).unwrap_or(""), at)? {
            Some(length) => at = space(at + length),
            None => return Ok(None),
        }
        match bytes.get(at) {
            Some(b',') => at = space(at + 1),
            // The envelope's parser checks the text after the object.
            Some(b'}') => return Ok(Some(at + 1)),
            _ => return Err(expected("`,` or `}`")),
        }
    }
}

/// Reads a name, which is borrowed unless it contains escapes. Also returns the number of bytes read.
#[inline]
pub(super) fn read_name(text: &str) -> Result<(Cow<'_, str>, usize), ScanError> {
    let inner = text.get(1..).unwrap_or("");
    let end = plain_bytes(inner.as_bytes());
    if inner.as_bytes().get(end) == Some(&b'"') {
        return Ok((Cow::Borrowed(inner.get(..end).unwrap_or("")), end + 2));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match values.next() {
        Some(Ok(name)) => Ok((Cow::Owned(name), values.byte_offset())),
        Some(Err(error)) => Err(ScanError::Syntax(serde_message(&error))),
        None => Err(ScanError::Syntax("expected a name".to_owned())),
    }
}

/// Returns the length in bytes of the value at the start of the text.
pub(super) fn value_length(text: &str) -> Result<usize, ScanError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => Err(ScanError::Syntax(serde_message(&error))),
        None => Err(ScanError::Syntax("expected a value".to_owned())),
    }
}

/// Returns the value at the start of the text and its length in bytes.
pub(super) fn read_value(text: &str) -> Result<(&str, usize), ScanError> {
    let length = value_length(text)?;
    Ok((text.get(..length).unwrap_or(""), length))
}

/// Returns the length in bytes of the JSON number at the start of the text.
pub(super) fn number_length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    text.bytes()
        .position(|byte| !is_part(byte))
        .unwrap_or(text.len())
}

/// Returns the length in bytes of the string at the start of the text, which is known to be valid.
pub(super) fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1_usize;
    loop {
        at = match bytes.get(at) {
            Some(b'"') => return at.saturating_add(1),
            Some(b'\\') => at.saturating_add(2),
            Some(_) => {
                let plain = plain_bytes(bytes.get(at..).unwrap_or_default());
                at.saturating_add(plain.max(1))
            }
            None => return bytes.len(),
        };
    }
}

/// Returns the names and values in an argument object. Each name must be unique so that all code that examines a call
/// sees the same arguments.
///
/// # Errors
///
/// Returns an error if the text is not an object or if an argument is given twice.
pub(crate) fn entries(arguments: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Vec<Fault>> {
    let mut entries = Vec::new();
    let scanned = scan(arguments, |name, rest, _| {
        let (value, length) = read_value(rest)?;
        entries.push((name, value));
        Ok(Some(length))
    });
    // If the arguments are not JSON, only that error is reported, because any others would be guesses.
    scanned.map_err(|error| vec![error.fault()])?;
    let mut names = HashSet::with_capacity(entries.len());
    let twice = entries.iter().filter(|(name, _)| !names.insert(&**name));
    let faults: Vec<Fault> = twice
        .take(FAULTS)
        .map(|(name, _)| Fault::new("", format!("argument `{name}` is given twice")))
        .collect();
    if faults.is_empty() {
        Ok(entries)
    } else {
        Err(faults)
    }
}

/// Returns the value of a member of an object. If there are duplicates, returns the last one, as parsers that accept
/// duplicates do.
#[cfg(feature = "http")]
pub(crate) fn member<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    let mut found = None;
    let scanned = scan(json, |key, rest, _| {
        let (value, length) = read_value(rest)?;
        if key == name {
            found = Some(value);
        }
        Ok(Some(length))
    });
    scanned.ok().flatten().and(found)
}

/// A string that is borrowed unless it contains escapes.
pub(super) struct Borrowable<'a>(pub(super) Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Borrowable<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Borrowable<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Borrowable(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Borrowable(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Returns the JSON pointer to the value that contains or ends at the given position. The position is as reported by
/// serde, which counts lines and bytes from 1.
///
/// At the end of an object or array, the position could refer either to the object or array itself or to its last
/// member. In this case, the result points to the object or array.
pub(super) fn pointer_at(text: &str, line: usize, column: usize) -> String {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let end = start.saturating_add(column);
    // An error in an item is reported only after the following comma has been read. That comma must not be counted as
    // the start of the next item.
    let read = text.get(..end).unwrap_or(text).trim_ascii_end();
    let end = read.strip_suffix(',').unwrap_or(read).len();
    let mut places: Vec<ScanPosition<'_>> = Vec::new();
    let mut at = 0_usize;
    while at < end {
        let Some(byte) = text.as_bytes().get(at) else {
            break;
        };
        let mut length = 1;
        match byte {
            b'{' => places.push(ScanPosition::Name(Cow::Borrowed(""), false)),
            b'[' => places.push(ScanPosition::Index(0)),
            b'}' | b']' => {
                places.pop();
            }
            b',' => match places.last_mut() {
                Some(ScanPosition::Index(index)) => *index = index.saturating_add(1),
                Some(ScanPosition::Name(_, known)) => *known = false,
                None => {}
            },
            b'"' => match places.last_mut() {
                Some(ScanPosition::Name(name, known @ false)) => {
                    let Ok((found, taken)) = read_name(text.get(at..).unwrap_or("")) else {
                        break;
                    };
                    (*name, *known, length) = (found, true, taken);
                }
                _ => length = value_length(text.get(at..).unwrap_or("")).unwrap_or(1),
            },
            _ => {}
        }
        at = at.saturating_add(length);
    }
    let mut pointer = String::new();
    for place in places {
        match place {
            ScanPosition::Name(name, true) => push_token(&mut pointer, &name),
            ScanPosition::Name(_, false) => break,
            ScanPosition::Index(index) => push_token(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

/// A scan's position in an object or array: either a member's name and whether it has been read since the last comma,
/// or an item's index.
enum ScanPosition<'t> {
    Name(Cow<'t, str>, bool),
    Index(usize),
}
