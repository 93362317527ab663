//! Structured output for protocol versions that allow only objects. Any other value is wrapped in an object with a
//! `result` member.
//!
//! The schema is changed in the same way as the value, so that a client can still validate the value. If the values of
//! a type are always objects (as for a tagged enum or a recursive struct), only `"type": "object"` is added to its
//! schema. Source: TOOL-13 and TOOL-15 in `docs/requirements.md`.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

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

/// The name of the definition that becomes the schema of the wrapped value if references lead into that schema.
const WRAPPED: &str = "Result";

/// The keywords that contain the targets of references, and stay at the root.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Wraps a schema. Its references lead to `$defs` at the root as before, because many clients know no other references.
fn wrap_schema(mut schema: Value) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), json!({}));
    object.insert("required".to_owned(), json!([MEMBER]));
    // If the schema has an `$id`, its references are relative to the `$id` and remain correct.
    let has_id = schema.get("$id").is_some();
    if let Some(members) = schema.as_object_mut() {
        let definitions = DEFINITIONS.iter().filter(|_| !has_id);
        for keyword in std::iter::once(&"$schema").chain(definitions) {
            if let Some(value) = members.shift_remove(*keyword) {
                object.insert((*keyword).to_owned(), value);
            }
        }
    }
    if !has_id {
        let name = unused_definition(&object);
        let mut leads_inside = point_to_definition(&mut schema, &name);
        for keyword in DEFINITIONS {
            let named = object.get_mut(keyword).and_then(Value::as_object_mut);
            for definition in named.into_iter().flat_map(Map::values_mut) {
                leads_inside |= point_to_definition(definition, &name);
            }
        }
        if leads_inside {
            let reference = json!({"$ref": format!("#/$defs/{name}")});
            let inside = std::mem::replace(&mut schema, reference);
            if let Value::Object(definitions) = object.entry("$defs").or_insert_with(|| json!({})) {
                definitions.insert(name, inside);
            }
        }
    }
    object.insert("properties".to_owned(), json!({ MEMBER: schema }));
    Value::Object(object)
}

/// Changes references that lead into the former root itself, so that they lead into the definition with this name. Returns
/// `true` if there are any.
fn point_to_definition(schema: &mut Value, name: &str) -> bool {
    let mut found = false;
    each_subschema(schema, &mut |members| {
        if let Some(Value::String(reference)) = members.get_mut("$ref")
            && let Some(pointer) = reference.strip_prefix('#')
            && (pointer.is_empty() || pointer.starts_with('/'))
            && !DEFINITIONS
                .iter()
                .any(|keyword| is_inside(pointer, keyword))
        {
            *reference = format!("#/$defs/{name}{pointer}");
            found = true;
        }
    });
    found
}

/// Returns `true` if a pointer leads into the value of a keyword at the root.
fn is_inside(pointer: &str, keyword: &str) -> bool {
    let rest = pointer
        .strip_prefix('/')
        .and_then(|rest| rest.strip_prefix(keyword));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns a name that no definition has.
fn unused_definition(object: &Map<String, Value>) -> String {
    let is_used = |name: &String| {
        let definitions = object.get("$defs");
        definitions.is_some_and(|all| all.get(name).is_some())
    };
    let mut names = (1..).map(|number: u32| match number {
        1 => WRAPPED.to_owned(),
        number => format!("{WRAPPED}{number}"),
    });
    names.find(|name| !is_used(name)).unwrap_or_default()
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
