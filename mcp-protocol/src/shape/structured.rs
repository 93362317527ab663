//! Structured output for protocol versions that allow only objects. Any other value is wrapped in an object with a
//! `result` member.
//!
//! The schema is changed in the same way as the value, so that a client can still validate the value. If the values of
//! a type are always objects (as for a tagged enum or a recursive struct), only `"type": "object"` is added to its
//! schema. Source: TOOL-13 and TOOL-15 in `docs/requirements.md`.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::ProtocolVersion;
use crate::shape::schema::each_subschema;

/// The member that holds a wrapped value.
pub const MEMBER: &str = "result";

/// The kind of values that an output schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRoot {
    /// Only objects. Also used for tools without a schema, whose values are wrapped only if they are not objects.
    Objects,
    /// Values that are not necessarily objects.
    Any,
}

impl OutputRoot {
    /// Returns the kind of values that this schema, if any, describes.
    #[must_use]
    pub fn from_schema(schema: Option<&RawValue>) -> Self {
        match schema.map(|schema| serde_json::from_str::<Value>(schema.get())) {
            Some(Ok(schema)) if !describes_only_objects(&schema) => Self::Any,
            _ => Self::Objects,
        }
    }

    /// Returns `true` if `version` allows this value only as the [`MEMBER`] member of an object.
    #[must_use]
    pub fn wraps(self, json: &RawValue, version: ProtocolVersion) -> bool {
        let may_stay = self == Self::Objects && json.get().starts_with('{');
        !version.has_structured_values() && !may_stay
    }
}

/// Returns a schema that has an object at its root and describes the values after any wrapping that
/// [`OutputRoot::wraps`] calls for.
pub(super) fn object_schema(schema: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut value) = serde_json::from_str::<Value>(schema.get()) else {
        return schema;
    };
    if value.get("type") == Some(&json!("object")) {
        return schema;
    }
    if describes_only_objects(&value) {
        value["type"] = json!("object");
    } else {
        value = wrap_schema(value);
    }
    to_raw_value(&value).unwrap_or(schema)
}

fn wrap_schema(mut schema: Value) -> Value {
    let dialect = schema
        .as_object_mut()
        .and_then(|members| members.shift_remove("$schema"));
    // If the schema has an `$id`, its references are relative to the `$id` and remain correct.
    if schema.get("$id").is_none() {
        each_subschema(&mut schema, &mut |members| {
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

/// Maximum number of subschemas examined to classify a schema, so that circular references cannot cause an endless
/// loop.
const MAX_STEPS: u32 = 1000;

/// Returns `true` if every value that matches the schema is known to be an object.
fn describes_only_objects(schema: &Value) -> bool {
    describes_objects(schema, schema, &mut { MAX_STEPS })
}

/// Like [`describes_only_objects`], but for a subschema of `root`.
fn describes_objects(schema: &Value, root: &Value, steps: &mut u32) -> bool {
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
        if every
            .iter()
            .all(|branch| describes_objects(branch, root, steps))
        {
            return true;
        }
    }
    let one = branches("allOf").into_iter().flatten();
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target
        .into_iter()
        .chain(one)
        .any(|part| describes_objects(part, root, steps))
}

#[cfg(test)]
mod tests;
