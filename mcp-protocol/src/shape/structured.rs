//! Structured output in protocol versions that allow only objects: any other value becomes the member `result` of an object.
//!
//! Schema and value are changed alike, so that a client can validate one with the other. The schema of a type whose values
//! are always objects (a tagged enum, a recursive struct) only gets `"type": "object"`. Source: TOOL-13 and TOOL-15 in
//! `docs/requirements.md`.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::ProtocolVersion;
use crate::shape::schema::each;

/// The member that holds the value.
pub const MEMBER: &str = "result";

/// The kind of values that an output schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRoot {
    /// Only objects; or there is no schema, so that each value decides for itself.
    Objects,
    /// Other values, possibly objects among them.
    Any,
}

impl OutputRoot {
    /// Returns the kind of values that this schema, if any, describes.
    #[must_use]
    pub fn of(schema: Option<&RawValue>) -> Self {
        match schema.map(|schema| serde_json::from_str::<Value>(schema.get())) {
            Some(Ok(schema)) if !gives_objects(&schema) => Self::Any,
            _ => Self::Objects,
        }
    }

    /// Returns the value in the form that `version` allows.
    #[must_use]
    pub fn shape(self, json: Box<RawValue>, version: ProtocolVersion) -> Box<RawValue> {
        let may_stay = self == Self::Objects && json.get().starts_with('{');
        if version.has_structured_values() || may_stay {
            return json;
        }
        // This is valid JSON: the value is, and the name needs no escaping.
        RawValue::from_string(format!("{{\"{MEMBER}\":{json}}}")).unwrap_or(json)
    }
}

/// Returns the schema with an object at its root, which describes the values that [`OutputRoot::shape`] returns.
pub(super) fn object_schema(schema: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut value) = serde_json::from_str::<Value>(schema.get()) else {
        return schema;
    };
    if value.get("type") == Some(&json!("object")) {
        return schema;
    }
    if gives_objects(&value) {
        value["type"] = json!("object");
    } else {
        value = wrapped(value);
    }
    to_raw_value(&value).unwrap_or(schema)
}

fn wrapped(mut schema: Value) -> Value {
    let dialect = schema
        .as_object_mut()
        .and_then(|members| members.shift_remove("$schema"));
    // With an `$id`, references are relative to it.
    if schema.get("$id").is_none() {
        each(&mut schema, &mut |members| {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(pointer) = reference.strip_prefix('#')
                && (pointer.is_empty() || pointer.starts_with('/'))
            {
                *reference = format!("#/properties/{MEMBER}{pointer}");
            }
        });
    }
    let mut object = json!({
        "type": "object",
        "properties": {MEMBER: schema},
        "required": [MEMBER],
    });
    if let Some(dialect) = dialect {
        object["$schema"] = dialect;
    }
    object
}

/// Maximum number of subschemas examined to classify one schema, so that circular references end.
const MAX_STEPS: u32 = 1000;

/// Returns `true` if every value that fits the schema is certainly an object.
fn gives_objects(schema: &Value) -> bool {
    is_object(schema, schema, &mut { MAX_STEPS })
}

/// Returns the same for a part of `root`.
fn is_object(schema: &Value, root: &Value, steps: &mut u32) -> bool {
    let Some(left) = steps.checked_sub(1) else {
        return false;
    };
    *steps = left;
    if schema.get("type").is_some_and(|kind| kind == "object") {
        return true;
    }
    let branches = |keyword| {
        let branches = schema.get(keyword).and_then(Value::as_array);
        branches.filter(|branches| !branches.is_empty())
    };
    for every in ["oneOf", "anyOf"].into_iter().filter_map(branches) {
        if every.iter().all(|branch| is_object(branch, root, steps)) {
            return true;
        }
    }
    let one = branches("allOf").into_iter().flatten();
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target
        .into_iter()
        .chain(one)
        .any(|part| is_object(part, root, steps))
}

#[cfg(test)]
mod tests;
