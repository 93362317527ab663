//! What a value may have been meant to be.
//!
//! Models write JSON into strings and fractions of zero onto integers; both are understood unless a tool is strict.

use serde_json::Value;

use crate::handler::check::whole;

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
