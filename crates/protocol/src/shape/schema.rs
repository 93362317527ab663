//! Converts tools' JSON Schemas for older versions, which allow only objects as property schemas.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Returns the schema with boolean property schemas rewritten as objects, or `None` if it contains none.
pub(super) fn without_boolean_schemas(schema: &RawValue) -> Option<Box<RawValue>> {
    let text = schema.get();
    // Most schemas do not need to be parsed.
    if !text.contains("true") && !text.contains("false") {
        return None;
    }
    let mut value: Value = serde_json::from_str(text).ok()?;
    let mut changed = false;
    each_subschema(&mut value, &mut |members| {
        let properties = members.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flatten().map(|(_, schema)| schema) {
            if let Value::Bool(all) = *property {
                *property = if all { json!({}) } else { json!({"not": {}}) };
                changed = true;
            }
        }
    });
    changed.then(|| to_raw_value(&value).ok()).flatten()
}

/// Calls `visit` for the given schema and for every schema nested in it, skipping boolean schemas.
pub(super) fn each_subschema(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else {
        return;
    };
    visit(members);
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            (
                "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(schemas),
            ) => schemas
                .values_mut()
                .for_each(|schema| each_subschema(schema, visit)),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                for schema in schemas {
                    each_subschema(schema, visit);
                }
            }
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contains"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else",
                schema @ Value::Object(_),
            ) => each_subschema(schema, visit),
            // Other keywords, such as `default`, `const`, `enum` and `examples`, contain no schemas, although their
            // values may look like schemas.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boolean_property_schemas_become_objects_and_nothing_else_changes() {
        for (schema, expected) in [
            (json!({"type": "object"}), None),
            (
                json!({"type": "object", "additionalProperties": false}),
                None,
            ),
            (
                json!({"properties": {"a": true, "b": false, "c": {"type": "boolean", "default": true}}}),
                Some(
                    json!({"properties": {"a": {}, "b": {"not": {}}, "c": {"type": "boolean", "default": true}}}),
                ),
            ),
            (
                json!({"default": {"properties": {"a": true}}, "enum": [{"properties": {"a": true}}]}),
                None,
            ),
            (
                json!({"$defs": {"D": {"properties": {"a": true}}}, "items": {"anyOf": [{"properties": {"b": false}}]}}),
                Some(
                    json!({"$defs": {"D": {"properties": {"a": {}}}}, "items": {"anyOf": [{"properties": {"b": {"not": {}}}}]}}),
                ),
            ),
        ] {
            let raw = serde_json::value::to_raw_value(&schema).unwrap();
            let rewritten = without_boolean_schemas(&raw)
                .map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap());
            assert_eq!(rewritten, expected);
        }
    }
}
