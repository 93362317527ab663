//! The keywords whose values contain schemas.

use serde_json::Value;

/// Returns the schemas directly inside a keyword's value, or an empty list for keywords that do not contain schemas.
pub(super) fn subschemas<'v>(keyword: &str, value: &'v mut Value) -> Vec<&'v mut Value> {
    match (keyword, value) {
        (
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions",
            Value::Object(named),
        ) => named.iter_mut().map(|(_, schema)| schema).collect(),
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter_mut().collect()
        }
        (
            "items"
            | "contains"
            | "additionalProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties",
            schema,
        ) => vec![schema],
        _ => Vec::new(),
    }
}
