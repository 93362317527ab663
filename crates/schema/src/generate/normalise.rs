//! Simplifies a schema without changing the values that it allows.

use serde_json::{Map, Value};

use super::choices::{const_to_enum, one_of_to_any_of, variants_to_enum};
use super::subschemas::subschemas;
use crate::format::{add_to_description, describe_unlisted};

/// The meaning of `null` at a position in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NullMeaning {
    /// In an output, `null` is kept at this position and at all nested positions.
    Kept,
    /// In an optional input, the schema does not need to mention `null`, because the value can be omitted.
    MeansAbsent,
    /// In an input that cannot be omitted, such as an array item, `null` is an ordinary value.
    Value,
}

pub(super) fn boolean_schema(allowed: bool) -> Value {
    let mut object = Map::new();
    if !allowed {
        object.insert("not".to_owned(), Value::Object(Map::new()));
    }
    Value::Object(object)
}

pub(super) fn normalise_schema(schema: &mut Value, null: NullMeaning) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("$schema");
    if null == NullMeaning::MeansAbsent {
        disallow_null(object);
    }
    if null != NullMeaning::Kept && object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    formats_to_bounds(object);
    numbers_as_text(object);
    describe_unlisted(object);
    variants_to_enum(object);
    const_to_enum(object);
    one_of_to_any_of(object);
    let value = if null == NullMeaning::Kept {
        NullMeaning::Kept
    } else {
        NullMeaning::Value
    };
    let required: Vec<String> = string_items(object.get("required"));
    for (keyword, inner) in object.iter_mut() {
        match keyword.as_str() {
            "properties" => {
                for (name, property) in inner.as_object_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = property {
                        *property = boolean_schema(*allowed);
                    }
                    let absent = null != NullMeaning::Kept && !required.contains(name);
                    normalise_schema(
                        property,
                        if absent {
                            NullMeaning::MeansAbsent
                        } else {
                            value
                        },
                    );
                }
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                for inner in inner.as_array_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = inner {
                        *inner = boolean_schema(*allowed);
                    }
                    normalise_schema(inner, value);
                }
            }
            "items" | "contains" => {
                // An empty schema allows any item, and `false` allows none.
                if inner == &Value::Bool(true) {
                    *inner = boolean_schema(true);
                }
                normalise_schema(inner, value);
            }
            _ => {
                for inner in subschemas(keyword, inner) {
                    normalise_schema(inner, value);
                }
            }
        }
    }
}

fn string_items(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Turns `["string", "null"]` into `"string"`, and an `anyOf` or `oneOf` with one schema and `null` into that schema.
pub(super) fn disallow_null(object: &mut Map<String, Value>) {
    // Each pass may replace a choice with its only remaining branch, so each level of `Option` needs one pass.
    for _ in 0..8 {
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(allowed)) = object.get_mut("enum")
            && allowed.len() > 1
        {
            allowed.retain(|value| !value.is_null());
        }
        let mut changed = false;
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = object.get_mut(keyword) else {
                continue;
            };
            let before = branches.len();
            if before > 1 {
                branches.retain(|branch| !is_null(branch));
            }
            if before == branches.len() {
                continue;
            }
            if let [Value::Object(only)] = branches.as_slice() {
                let only = only.clone();
                object.shift_remove(keyword);
                for (name, value) in only {
                    object.entry(name).or_insert(value);
                }
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
        || schema.get("const").is_some_and(Value::is_null)
}

/// The pattern that schemars generates for decimal numbers that can also be written as JSON numbers.
const DECIMAL_INPUT: &str = r"^-?\d+(\.\d+)?([eE]\d+)?$";

/// The pattern for decimal numbers written as text.
const DECIMAL_TEXT: &str = r"^-?\d+(\.\d+)?$";

/// Maximum length of a decimal number as text: `rust_decimal` either represents a number of this length without
/// rounding or rejects it.
const DECIMAL_LENGTH: usize = 29;

/// Allows decimal numbers only as text, although `rust_decimal` and `bigdecimal` also accept JSON numbers. JSON numbers
/// are not exact everywhere, the pattern would not be enforced on them, and several model APIs reject schemas with two
/// types.
fn numbers_as_text(object: &mut Map<String, Value>) {
    if object
        .get("pattern")
        .is_some_and(|pattern| pattern == DECIMAL_INPUT)
    {
        match object.get_mut("type") {
            // If `null` was allowed, it remains allowed.
            Some(Value::Array(types)) if types.iter().any(|name| name == "null") => {
                types.retain(|name| name != "number");
            }
            _ => {
                object.insert("type".to_owned(), "string".into());
            }
        }
        object.insert("pattern".to_owned(), DECIMAL_TEXT.into());
        object.insert("maxLength".to_owned(), DECIMAL_LENGTH.into());
        add_to_description(object, "decimal number as a string, such as `\"12.50\"`");
    }
}

/// Replaces number formats with bounds: model APIs understand bounds, but not `uint8` or `int64`. 64-bit formats are
/// removed without adding bounds, because JSON numbers are not reliably exact to 64 bits anyway.
fn formats_to_bounds(object: &mut Map<String, Value>) {
    let bounds: Option<(i64, i64)> = match object.get("format").and_then(Value::as_str) {
        Some("int8") => Some((i8::MIN.into(), i8::MAX.into())),
        Some("int16") => Some((i16::MIN.into(), i16::MAX.into())),
        Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
        Some("uint8") => Some((0, u8::MAX.into())),
        Some("uint16") => Some((0, u16::MAX.into())),
        Some("uint32") => Some((0, u32::MAX.into())),
        Some("int" | "int64" | "int128" | "uint" | "uint64" | "uint128" | "float" | "double") => {
            None
        }
        _ => return,
    };
    object.shift_remove("format");
    if let Some((minimum, maximum)) = bounds {
        object.entry("minimum").or_insert_with(|| minimum.into());
        object.entry("maximum").or_insert_with(|| maximum.into());
    }
}
