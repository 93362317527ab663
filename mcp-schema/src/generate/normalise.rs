//! Simplifies a schema without changing the values that it allows.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The meaning of `null` at a position in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NullMeaning {
    /// In an output, `null` is kept at this position and everywhere inside it.
    Kept,
    /// In an optional input, the schema need not mention `null`, because the value can be omitted.
    MeansAbsent,
    /// In an input that cannot be omitted, such as an array item, `null` is a value like any other.
    Value,
}

pub(super) fn boolean(allowed: bool) -> Value {
    let mut object = Map::new();
    if !allowed {
        object.insert("not".to_owned(), Value::Object(Map::new()));
    }
    Value::Object(object)
}

pub(super) fn normalise(schema: &mut Value, null: NullMeaning) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("$schema");
    if null == NullMeaning::MeansAbsent {
        drop_null(object);
    }
    if null != NullMeaning::Kept && object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    formats_to_bounds(object);
    variants_to_enum(object);
    let value = if null == NullMeaning::Kept {
        NullMeaning::Kept
    } else {
        NullMeaning::Value
    };
    let required: Vec<String> = names(object.get("required"));
    for (keyword, inner) in object.iter_mut() {
        match keyword.as_str() {
            "properties" => {
                for (name, property) in inner.as_object_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = property {
                        *property = boolean(*allowed);
                    }
                    let absent = null != NullMeaning::Kept && !required.contains(name);
                    normalise(
                        property,
                        if absent {
                            NullMeaning::MeansAbsent
                        } else {
                            value
                        },
                    );
                }
            }
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                for inner in inner.as_object_mut().into_iter().flatten() {
                    normalise(inner.1, value);
                }
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                for inner in inner.as_array_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = inner {
                        *inner = boolean(*allowed);
                    }
                    normalise(inner, value);
                }
            }
            "items" | "contains" => {
                // An empty schema allows any item, and `false` allows none.
                if inner == &Value::Bool(true) {
                    *inner = boolean(true);
                }
                normalise(inner, value);
            }
            "additionalProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => normalise(inner, value),
            _ => {}
        }
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Turns `["string", "null"]` into `"string"`, and an `anyOf` or `oneOf` of one schema and `null` into that schema.
fn drop_null(object: &mut Map<String, Value>) {
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

/// Turns a `oneOf` of constants, as generated for documented variants, into an `enum`, and moves the variants'
/// documentation to the description.
fn variants_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut meanings = String::new();
    let mut kind: Option<&str> = None;
    for branch in branches {
        let Some(branch) = branch.as_object() else {
            return;
        };
        let known = [
            "const",
            "enum",
            "type",
            "description",
            "title",
            "deprecated",
        ];
        if !branch
            .keys()
            .all(|keyword| known.contains(&keyword.as_str()))
        {
            return;
        }
        let found = match (branch.get("const"), branch.get("enum")) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values,
            _ => return,
        };
        for value in found {
            let this = match value {
                Value::String(_) => "string",
                Value::Number(number) if number.is_f64() => "number",
                Value::Number(_) => "integer",
                Value::Bool(_) => "boolean",
                _ => return,
            };
            if kind.is_some_and(|kind| kind != this) {
                return;
            }
            kind = Some(this);
            if let Some(text) = branch.get("description").and_then(Value::as_str) {
                let name = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let _ = write!(meanings, "\n- `{name}`: {}", text.replace('\n', " "));
            }
            values.push(value.clone());
        }
    }
    let Some(kind) = kind.map(str::to_owned) else {
        return;
    };
    object.shift_remove("oneOf");
    object.entry("type").or_insert_with(|| kind.into());
    object.insert("enum".to_owned(), Value::Array(values));
    if !meanings.is_empty() {
        let text = match object.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text}\n{meanings}"),
            None => meanings.trim_start().to_owned(),
        };
        object.insert("description".to_owned(), text.into());
    }
}
