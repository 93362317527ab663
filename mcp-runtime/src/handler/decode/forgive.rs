//! Corrections for values that models frequently get wrong.
//!
//! Models often put JSON into strings and write integers with a zero fraction, such as `1.0`. Both are accepted unless
//! a tool is strict. Corrections are applied to a value's text, so numbers of any size remain exact. A string counts as
//! a single value in a message, so any JSON inside it must itself be within the limits for a message; otherwise, it
//! remains a string.

use std::fmt::Write as _;

use mcp_schema::query::allows;
use serde_json::Value;
use serde_json::value::RawValue;

use super::header::HEADER;
use crate::jsonrpc::{Decimal, ParseLimits, Scan, numbers, unquote as unquote_text};

/// Maximum nesting depth to examine.
const DEPTH: u32 = 32;

/// Returns the values that the model may have meant according to the schema, with the most likely value last.
pub(super) fn forgive(json: &str, schema: &Value, limits: &ParseLimits) -> Vec<String> {
    let mut meant = Vec::new();
    if let Some(inner) = unquoted_as(json, schema, limits) {
        let whole = without_fractions(&inner);
        meant.push(inner);
        meant.extend(whole);
    } else {
        meant.extend(without_fractions(json));
    }
    meant.extend(unquoted_inside(json, schema, limits));
    meant
}

/// Returns the JSON inside a string, if it is an object, array, number or boolean that this schema may expect.
pub(super) fn unquoted_as(json: &str, schema: &Value, limits: &ParseLimits) -> Option<String> {
    // Intermediaries would not look inside a string to find an argument that is mirrored in a header.
    if holds_header(schema, DEPTH) {
        return None;
    }
    let text = unquote_text(json).ok()?;
    let inner = text.trim_ascii();
    let is_meant = !inner.starts_with('"') && inner != "null" && is_within(inner, limits);
    (is_meant && serde_json::from_str::<&RawValue>(inner).is_ok()).then(|| inner.to_owned())
}

/// Returns `true` if a value is within the limits for a message.
fn is_within(json: &str, limits: &ParseLimits) -> bool {
    Scan::within(json, limits).next_value().is_some()
}

/// Unquotes JSON inside the value's strings wherever the schema does not allow strings. Returns `None` if the value
/// does not contain such strings or if the result would exceed the limits.
pub(super) fn unquoted_inside(json: &str, schema: &Value, limits: &ParseLimits) -> Option<String> {
    let mut meant = String::with_capacity(json.len());
    let changed = unquote(json, (schema, limits), DEPTH, &mut meant);
    // Each string is within the limits, but together they may not be.
    (changed && is_within(&meant, limits)).then(|| without_fractions(&meant).unwrap_or(meant))
}

/// Writes a value and unquotes all quoted JSON inside it. Returns `true` if any JSON was unquoted.
fn unquote(
    json: &str,
    (schema, limits): (&Value, &ParseLimits),
    depth: u32,
    out: &mut String,
) -> bool {
    let kind = json.as_bytes().first();
    let Some(depth) = depth.checked_sub(1) else {
        out.push_str(json);
        return false;
    };
    match kind {
        Some(b'"') if !allows(schema, "string") => {
            if let Some(inner) = unquoted_as(json, schema, limits) {
                unquote(&inner, (schema, limits), depth, out);
                return true;
            }
        }
        Some(b'[') => {
            if let Some(schema) = schema.get("items")
                && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json)
            {
                return unquote_items(&items, (schema, limits), depth, out);
            }
        }
        Some(b'{') => return unquote_members(json, (schema, limits), depth, out),
        _ => {}
    }
    out.push_str(json);
    false
}

fn unquote_items(
    items: &[&RawValue],
    expected: (&Value, &ParseLimits),
    depth: u32,
    out: &mut String,
) -> bool {
    let mut changed = false;
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        changed |= unquote(item.get(), expected, depth, out);
    }
    out.push(']');
    changed
}

fn unquote_members(
    json: &str,
    (schema, limits): (&Value, &ParseLimits),
    depth: u32,
    out: &mut String,
) -> bool {
    let properties = schema.get("properties");
    let others = schema.get("additionalProperties");
    let mut changed = false;
    let mut separator = '{';
    // The text is known to be valid JSON.
    Scan::new(json).members(|scan, name| {
        let member = scan.next_value()?;
        let _ = write!(out, "{separator}{}:", Value::from(&*name));
        separator = ',';
        match properties.and_then(|all| all.get(&*name)).or(others) {
            Some(schema) => changed |= unquote(member, (schema, limits), depth, out),
            None => out.push_str(member),
        }
        Some(())
    });
    out.push_str(if separator == '{' { "{}" } else { "}" });
    changed
}

/// Returns `true` if the value described by the schema contains a value that is mirrored in a header.
fn holds_header(schema: &Value, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return true;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(serde_json::Map::values)
        .any(|property| property.get(HEADER).is_some() || holds_header(property, depth))
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
