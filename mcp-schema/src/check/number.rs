//! Numbers compared by value rather than by spelling: `1` and `1.0` are equal.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Returns the value of a keyword that is a count. Whole numbers may be written with a fraction of zero.
pub(super) fn count(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else {
        return None;
    };
    match whole(number) {
        Some(whole) => usize::try_from(whole).ok(),
        None => None,
    }
}

/// Returns the number as an integer, if it is one.
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i128() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    // 2^100 exceeds all integer types in use, and converts without loss.
    if float.fract() == 0.0 && float.abs() < 1.267_650_600_228_229_4e30 {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "whole and within range, just checked"
        )]
        return Some(float as i128);
    }
    None
}

pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (
        a.as_f64().unwrap_or(f64::NAN),
        b.as_f64().unwrap_or(f64::NAN),
    );
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

pub(super) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    if let (Some(number), Some(divisor)) = (whole(number), whole(divisor)) {
        return divisor != 0 && number % divisor == 0;
    }
    if let (Some((number, scale)), Some((divisor, other))) = (decimal(number), decimal(divisor)) {
        let common = scale.max(other);
        let raise = |mantissa: i128, scale: u32| {
            10_i128
                .checked_pow(common.checked_sub(scale)?)
                .and_then(|factor| mantissa.checked_mul(factor))
        };
        if let (Some(number), Some(divisor)) = (raise(number, scale), raise(divisor, other)) {
            return divisor != 0 && number % divisor == 0;
        }
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / divisor.as_f64().unwrap_or(f64::NAN);
    quotient.is_finite() && quotient.fract() == 0.0
}

/// Returns the number as a whole number divided by a power of ten, as written.
pub(super) fn decimal(number: &Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    match u32::try_from(scale) {
        Ok(scale) => Some((digits, scale)),
        Err(_) => Some((
            10_i128
                .checked_pow(scale.unsigned_abs())?
                .checked_mul(digits)?,
            0,
        )),
    }
}

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
                whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Compares values by the rules of JSON Schema: numbers by value, members in any order.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Appends a string that is equal for equal values and different for all others.
pub(super) fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match whole(number) {
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
                canonical(item, out);
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
                    canonical(member, out);
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
