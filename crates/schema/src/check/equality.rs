//! Checks types and compares values according to the rules of JSON Schema.

use std::fmt::Write as _;

use serde_json::Value;

use crate::constraint::{Bound, to_integer};

/// Returns `true` if a value has the type, or one of the types, specified by the `type` keyword.
pub(super) fn is_of_type(expected: &Value, value: &Value) -> bool {
    match expected {
        Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
        Value::String(name) => match (name.as_str(), value) {
            ("null", Value::Null)
            | ("boolean", Value::Bool(_))
            | ("number", Value::Number(_))
            | ("string", Value::String(_))
            | ("array", Value::Array(_))
            | ("object", Value::Object(_)) => true,
            ("integer", Value::Number(number)) => {
                to_integer(number).is_some()
                    || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Compares values according to the rules of JSON Schema: numbers are compared by value, and the order of members does
/// not matter.
pub(super) fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            Bound::from_number(a).compare(Bound::from_number(b)).is_eq()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| are_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Appends the canonical string for a value, which is the same for equal values and different for unequal values.
pub(super) fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match to_integer(number) {
            Some(whole) => {
                let _ = write!(out, "{whole}");
            }
            None => {
                let _ = write!(out, "{number}");
            }
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                let _ = write!(out, "{name:?}:");
                if let Some(member) = members.get(name) {
                    write_canonical(member, out);
                }
                out.push(',');
            }
            out.push('}');
        }
        Value::String(text) => {
            let _ = write!(out, "{text:?}");
        }
        Value::Null | Value::Bool(_) => {
            let _ = write!(out, "{value}");
        }
    }
}
