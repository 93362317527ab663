//! Structured output in revisions that only have objects: whatever else there is becomes the member `result` of one.
//!
//! Schema and value are changed alike, so that a client may check one with the other. Schemas of what is an object anyway
//! (a tagged enum, a recursive struct) only have to say so. Source: TOOL-13 and TOOL-15 in `docs/requirements.md`.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::protocol::ProtocolVersion;
use crate::protocol::schema::each;

/// The member of the object.
pub(crate) const MEMBER: &str = "result";

/// What an output schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputRoot {
    /// Objects only; or there is no schema, so that each value says for itself what it is.
    Objects,
    /// Anything else, perhaps objects among it.
    Any,
}

impl OutputRoot {
    /// What this schema describes, if there is one.
    pub(crate) fn of(schema: Option<&RawValue>) -> Self {
        match schema.map(|schema| serde_json::from_str::<Value>(schema.get())) {
            Some(Ok(schema)) if !gives_objects(&schema) => Self::Any,
            _ => Self::Objects,
        }
    }

    /// The value as `version` may see it.
    pub(crate) fn shape(self, json: Box<RawValue>, version: ProtocolVersion) -> Box<RawValue> {
        let may_stay = self == Self::Objects && json.get().starts_with('{');
        if version.has_structured_values() || may_stay {
            return json;
        }
        // Made of JSON and a name without anything to escape, so it is JSON.
        RawValue::from_string(format!("{{\"{MEMBER}\":{json}}}")).unwrap_or(json)
    }
}

/// The schema with an object at its root, which describes what [`OutputRoot::shape`] makes of the values.
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
    // With an `$id`, references are relative to that.
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

/// How many schemas are looked at to find out what one describes, so that references in a circle end.
const MOST_STEPS: u32 = 1000;

/// Whether every value that fits the schema is surely an object.
fn gives_objects(schema: &Value) -> bool {
    is_object(schema, schema, &mut { MOST_STEPS })
}

/// The same of a part of `root`.
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
