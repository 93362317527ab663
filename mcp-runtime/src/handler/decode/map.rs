//! Reads arguments into a map of values, for handlers that are created at run time.

use mcp_schema::explain::Fault;
use serde_json::{Map, Value};

use super::entries::entries;
use super::forgive::without_fractions;
use super::out_of_range::out_of_range;
use super::{pointer_to, serde_message};
use crate::jsonrpc::{Decimal, is_huge, numbers};

/// Reads arguments into a map; whole numbers remain exact.
///
/// # Errors
///
/// Returns an error if the arguments are not an object, an argument is given twice, a number is out of range, or a whole
/// number is too large for a [`Value`] to represent exactly.
pub(crate) fn to_map(arguments: &str) -> Result<Map<String, Value>, Vec<Fault>> {
    let mut map = Map::new();
    let mut faults = Vec::new();
    for (name, text) in entries(arguments)? {
        let whole = without_fractions(text);
        let text = whole.as_deref().unwrap_or(text);
        if let Some(number) = inexact(text) {
            let huge = out_of_range(&pointer_to(&name), text, &Value::Bool(true));
            if !huge.is_empty() {
                faults.extend(huge);
                continue;
            }
            let message =
                format!("contains {number}, which is too large to be represented exactly");
            faults.push(Fault::new(pointer_to(&name), message));
        }
        match serde_json::from_str(text) {
            Ok(value) => {
                map.insert(name.into_owned(), value);
            }
            Err(error) => faults.push(Fault::new(
                pointer_to(&name),
                format!("is not valid JSON: {}", serde_message(&error)),
            )),
        }
    }
    if faults.is_empty() {
        Ok(map)
    } else {
        Err(faults)
    }
}

/// Returns the first number in the text that is out of range, or a whole number that a [`Value`] cannot represent exactly.
fn inexact(json: &str) -> Option<&str> {
    let mut all = numbers(json).map(|(_, number)| number);
    all.find(|number| !is_exact(number))
}

fn is_exact(number: &str) -> bool {
    if number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok() {
        return true;
    }
    if number.contains(['.', 'e', 'E']) {
        return !is_huge(number);
    }
    let float: f64 = number.parse().unwrap_or(f64::INFINITY);
    float.is_finite() && Decimal::read(&format!("{float:.0}")) == Decimal::read(number)
}
