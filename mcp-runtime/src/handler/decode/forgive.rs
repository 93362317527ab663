//! The value that a client probably meant.
//!
//! Models often put JSON into strings, write integers with a zero fraction, such as `1.0`, and send `null` for what they
//! leave out. All of this is accepted unless a tool is strict. The schema decides where: a string is unquoted where the
//! schema has something else, and `null` is removed where it has an optional property. Corrections are applied to a value's
//! text, so numbers of any size remain exact. A string counts as a single value in a message, so any JSON inside it must
//! itself be within the limits for a message; otherwise, it remains a string.

use std::collections::HashMap;
use std::fmt::Write as _;

use mcp_schema::check::SentValue;
use mcp_schema::explain::{Fault, FaultSubject, push_token};
use serde_json::Value;
use serde_json::value::RawValue;

use super::header::HeaderArgument;
use super::{FAULTS, pointer_to};
use crate::jsonrpc::{Decimal, ParseLimits, Scan, numbers, unquote as unquote_text};

/// Maximum number of times that a value is corrected: JSON inside a string may contain strings with JSON.
const ROUNDS: usize = 8;

/// Number of bytes after which a value is not corrected again, if it has more mistakes than are found at once.
const WRITTEN: usize = 2 << 20;

/// A value as its client probably meant it.
pub(super) struct MeantValue {
    text: String,
    /// The text with integers in place of numbers such as `1.0`, if there are any.
    without_fractions: Option<String>,
    /// The value of the last text.
    pub(super) value: Value,
    /// What the schema does not allow.
    pub(super) faults: Vec<Fault>,
}

impl MeantValue {
    /// Returns a value as it was sent.
    pub(super) fn unchanged(
        json: &str,
        value: Value,
        examine: &dyn Fn(&Value) -> SentValue,
    ) -> Self {
        Self {
            text: json.to_owned(),
            without_fractions: None,
            faults: examine(&value).faults,
            value,
        }
    }

    /// Returns the first text that can be read, with the most likely one last.
    pub(super) fn take_text(&mut self, is_read: &mut dyn FnMut(&str) -> bool) -> Option<String> {
        if is_read(&self.text) {
            return Some(std::mem::take(&mut self.text));
        }
        let whole = self.without_fractions.as_deref()?;
        is_read(whole).then(|| self.without_fractions.take())?
    }

    /// Returns the text to explain.
    pub(super) fn last(&self) -> &str {
        self.without_fractions.as_deref().unwrap_or(&self.text)
    }
}

/// The rules for corrections.
pub(super) struct Corrections<'d> {
    /// The pointer to the value that is corrected.
    pub(super) pointer: &'d str,
    pub(super) limits: &'d ParseLimits,
    /// Intermediaries do not look inside a string to find an argument that is mirrored in a header.
    pub(super) headers: &'d [HeaderArgument],
}

impl Corrections<'_> {
    /// Corrects a value as far as a schema, with which `examine` compares it, tells how.
    pub(super) fn apply(
        &self,
        json: &str,
        mut value: Value,
        examine: &dyn Fn(&Value) -> SentValue,
    ) -> MeantValue {
        let mut meant = json.to_owned();
        let mut sent = examine(&value);
        let (mut rounds, mut written) = (0, 0_usize);
        while rounds < ROUNDS && written <= WRITTEN {
            // In a long list, the check finds only the first mistakes.
            rounds += usize::from(sent.faults.len() < FAULTS);
            let quoted = sent.faults.iter();
            let quoted: HashMap<String, JsonEdit> = quoted
                .filter_map(|fault| self.unquoted(fault, &value))
                .collect();
            if quoted.is_empty() {
                break;
            }
            // Each string is within the limits, but together they may not be.
            let next = edited(&meant, &quoted);
            if !is_within(&next, self.limits) {
                break;
            }
            let Ok(parsed) = serde_json::from_str(&next) else {
                break;
            };
            written = written.saturating_add(next.len());
            (meant, value) = (next, parsed);
            sent = examine(&value);
        }
        if !sent.absent.is_empty() {
            let absent = sent.absent.iter();
            let absent = absent.filter_map(|pointer| pointer.strip_prefix(self.pointer));
            let absent = absent.map(|pointer| (pointer.to_owned(), JsonEdit::Remove));
            meant = edited(&meant, &absent.collect());
        }
        let without_fractions = without_fractions(&meant);
        // The corrections of valid JSON are valid.
        if let Ok(corrected) = serde_json::from_str(without_fractions.as_ref().unwrap_or(&meant)) {
            value = corrected;
        }
        MeantValue {
            text: meant,
            without_fractions,
            value,
            faults: sent.faults,
        }
    }

    /// Returns the JSON inside a string that a fault is about, with its pointer, if it is of a type that the schema has in
    /// place of the string.
    fn unquoted(&self, fault: &Fault, value: &Value) -> Option<(String, JsonEdit)> {
        let pointer = fault.pointer.strip_prefix(self.pointer)?;
        let text = value.pointer(pointer)?.as_str()?;
        let inner = text.trim_ascii();
        let kind = match inner.as_bytes().first()? {
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'-' | b'0'..=b'9' => "number",
            _ => return None,
        };
        let is_meant = match &fault.about {
            FaultSubject::Type(expected) => expected
                .iter()
                .any(|name| name == kind || (name == "integer" && kind == "number")),
            // Variants without data are strings, and all others are objects.
            FaultSubject::Unlisted => kind == "object",
            _ => false,
        };
        let is_valid =
            || is_within(inner, self.limits) && serde_json::from_str::<&RawValue>(inner).is_ok();
        (is_meant && !self.contains_header(&fault.pointer) && is_valid())
            .then(|| (pointer.to_owned(), JsonEdit::Replace(inner.to_owned())))
    }

    /// Returns `true` if a value contains another one that is mirrored in a header.
    fn contains_header(&self, pointer: &str) -> bool {
        self.headers.iter().any(|header| {
            let path: String = header.path.iter().map(|name| pointer_to(name)).collect();
            path.strip_prefix(pointer)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Returns the JSON inside a string, if it is an object, array, number or boolean.
pub(super) fn unquoted(json: &str, limits: &ParseLimits) -> Option<String> {
    let text = unquote_text(json).ok()?;
    let inner = text.trim_ascii();
    let is_meant = !inner.starts_with('"') && inner != "null" && is_within(inner, limits);
    (is_meant && serde_json::from_str::<&RawValue>(inner).is_ok()).then(|| inner.to_owned())
}

/// Returns `true` if a value is within the limits for a message.
fn is_within(json: &str, limits: &ParseLimits) -> bool {
    Scan::within(json, limits).next_value().is_some()
}

/// A change to a value.
enum JsonEdit {
    Replace(String),
    /// Removes a member of an object.
    Remove,
}

/// Returns a value, known to be valid, with changes at some pointers.
fn edited(json: &str, edits: &HashMap<String, JsonEdit>) -> String {
    let mut out = String::with_capacity(json.len());
    write_edited(json, &mut String::new(), edits, &mut out);
    out
}

fn write_edited(
    json: &str,
    pointer: &mut String,
    edits: &HashMap<String, JsonEdit>,
    out: &mut String,
) {
    if let Some(JsonEdit::Replace(text)) = edits.get(pointer) {
        out.push_str(text);
        return;
    }
    let length = pointer.len();
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut separator = '{';
            Scan::new(json).members(|scan, name| {
                let member = scan.next_value()?;
                push_token(pointer, &name);
                if !matches!(edits.get(pointer), Some(JsonEdit::Remove)) {
                    let _ = write!(out, "{separator}{}:", Value::from(&*name));
                    separator = ',';
                    write_edited(member, pointer, edits, out);
                }
                pointer.truncate(length);
                Some(())
            });
            out.push_str(if separator == '{' { "{}" } else { "}" });
        }
        Some(b'[') => {
            let mut index = 0_usize;
            out.push('[');
            Scan::new(json).items(|scan| {
                let item = scan.next_value()?;
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(pointer, "/{index}");
                write_edited(item, pointer, edits, out);
                pointer.truncate(length);
                index = index.saturating_add(1);
                Some(())
            });
            out.push(']');
        }
        _ => out.push_str(json),
    }
}

/// Rewrites numbers such as `1.0` and `1e3` as `1` and `1000` throughout the value. Returns `None` if there are no such
/// numbers.
pub(super) fn without_fractions(json: &str) -> Option<String> {
    let mut out = String::new();
    let mut written = 0;
    for (at, number) in numbers(json) {
        if number.contains(['.', 'e', 'E'])
            && let Some(whole) = Decimal::read(number).and_then(|number| number.integer())
        {
            out.push_str(json.get(written..at)?);
            out.push_str(&whole);
            written = at.saturating_add(number.len());
        }
    }
    (written > 0).then(|| {
        out.push_str(json.get(written..).unwrap_or(""));
        out
    })
}
