//! What a value may have been meant to be.
//!
//! Models write JSON into strings and fractions of zero onto integers; both are understood unless a tool is strict.

use serde_json::Value;

use crate::handler::check::whole;
use crate::handler::schema::allows;

/// Deepest nesting that is looked into.
const DEPTH: u32 = 32;

/// What a value may have been meant to be, the likeliest last.
pub(super) fn forgive(value: &Value) -> Vec<Value> {
    let mut meant = Vec::new();
    if let Some(inner) = unquoted(value) {
        if let Some(whole) = without_fractions(&inner) {
            meant.push(inner);
            meant.push(whole);
        } else {
            meant.push(inner);
        }
    } else if let Some(whole) = without_fractions(value) {
        meant.push(whole);
    }
    meant
}

/// The object, array, number or boolean that a string holds.
pub(super) fn unquoted(value: &Value) -> Option<Value> {
    let inner: Value = serde_json::from_str(value.as_str()?.trim_ascii()).ok()?;
    (!inner.is_string() && !inner.is_null()).then_some(inner)
}

/// The value with what stands in quotes inside of it unquoted, where its schema allows no text; `None` if nothing does.
pub(super) fn unquoted_inside(value: &Value, schema: &Value) -> Option<Value> {
    let mut meant = value.clone();
    unquote(&mut meant, schema, DEPTH).then_some(meant)
}

fn unquote(value: &mut Value, schema: &Value, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::String(_) if !allows(schema, "string") => match unquoted(value) {
            Some(inner) => {
                *value = without_fractions(&inner).unwrap_or(inner);
                unquote(value, schema, depth);
                true
            }
            None => false,
        },
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else {
                return false;
            };
            // Every item is looked at, whatever was found before.
            items.iter_mut().fold(false, |changed, item| {
                unquote(item, schema, depth) | changed
            })
        }
        Value::Object(members) => {
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            members.iter_mut().fold(false, |changed, (name, member)| {
                properties
                    .and_then(|all| all.get(name))
                    .or(others)
                    .is_some_and(|schema| unquote(member, schema, depth))
                    | changed
            })
        }
        _ => false,
    }
}

/// The value with `1.0` written as `1` throughout; `None` if there is nothing to write so.
pub(super) fn without_fractions(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) if number.is_f64() => {
            serde_json::Number::from_i128(whole(number)?).map(Value::Number)
        }
        Value::Array(items) => {
            let mut changed = false;
            let items = items.iter().map(|item| match without_fractions(item) {
                Some(item) => {
                    changed = true;
                    item
                }
                None => item.clone(),
            });
            let items = items.collect();
            changed.then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let mut changed = false;
            let members = members
                .iter()
                .map(|(name, member)| match without_fractions(member) {
                    Some(member) => {
                        changed = true;
                        (name.clone(), member)
                    }
                    None => (name.clone(), member.clone()),
                });
            let members = members.collect();
            changed.then_some(Value::Object(members))
        }
        _ => None,
    }
}
