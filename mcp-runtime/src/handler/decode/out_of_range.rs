//! Explains numbers that neither a 64-bit integer nor an `f64` can hold. JSON allows them, and so do messages.

use std::fmt::Write as _;

use mcp_schema::explain::{Fault, kind};
use serde_json::Value;

use super::pointer::pointer_at;
use super::refused::schema_at;
use crate::jsonrpc::{is_huge, numbers};

/// Maximum length of a number in a message, in bytes.
const SHOWN: usize = 40;

/// Returns an error for each number in a value that is out of range. `pointer` leads to the value, which has this
/// schema. Where there are no such numbers, every [`Value`] can hold the value.
pub(super) fn out_of_range(pointer: &str, json: &str, schema: &Value) -> Vec<Fault> {
    let huge = numbers(json).filter(|(_, number)| is_huge(number));
    let fault = |(at, number): (usize, &str)| {
        let inner = pointer_at(json, 1, at.saturating_add(number.len()));
        Fault::new(
            format!("{pointer}{inner}"),
            message(number, schema_at(schema, &inner)),
        )
    };
    huge.map(fault).collect()
}

fn message(number: &str, schema: Option<&Value>) -> String {
    let mut message = match number.get(..SHOWN) {
        Some(start) if number.len() > SHOWN => format!("{start}… ({} characters)", number.len()),
        _ => number.to_owned(),
    };
    let (extent, limit) = if number.starts_with('-') {
        ("small", f64::MIN)
    } else {
        ("large", f64::MAX)
    };
    let _ = write!(message, " is too {extent} for a number; ");
    match schema.map(kind).as_deref() {
        None | Some("anything" | "number") => {
            let _ = write!(message, "the limit is {limit:e}");
        }
        Some(expected) => {
            let _ = write!(message, "expected {expected}");
        }
    }
    message
}
