//! A value that a schema probably allows, to take the place of one that it does not.

use serde_json::{Map, Value};

use crate::constraint::to_count;
use crate::format;

/// Maximum nesting depth of a sample.
const MAX_SAMPLE_DEPTH: u32 = 16;

/// Maximum number of characters or items in a sample.
const MAX_SAMPLE_LENGTH: usize = 1_000;

/// Returns a value that matches a schema, as far as types, lengths, bounds and lists of values go. Patterns are not taken
/// into account. References lead into `root`.
#[must_use]
pub fn sample(schema: &Value, root: &Value) -> Value {
    sample_within(schema, root, MAX_SAMPLE_DEPTH)
}

fn sample_within(schema: &Value, root: &Value, depth: u32) -> Value {
    let (Some(depth), Some(keywords)) = (depth.checked_sub(1), schema.as_object()) else {
        return Value::Null;
    };
    let inner = |schema: &Value| sample_within(schema, root, depth);
    let target = keywords.get("$ref").and_then(Value::as_str);
    if let Some(target) = target.and_then(|reference| root.pointer(reference.strip_prefix('#')?)) {
        return inner(target);
    }
    if let Some(value) = keywords.get("default").or_else(|| keywords.get("const")) {
        return value.clone();
    }
    for keyword in ["enum", "examples"] {
        if let Some(first) = keywords.get(keyword).and_then(|values| values.get(0)) {
            return first.clone();
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = keywords.get(keyword).and_then(|all| all.get(0)) {
            return inner(first);
        }
    }
    let kind = match keywords.get("type") {
        Some(Value::Array(names)) => names.first(),
        kind => kind,
    };
    let count = |keyword: &str| keywords.get(keyword).and_then(to_count).unwrap_or(0);
    match kind.and_then(Value::as_str) {
        Some("boolean") => false.into(),
        Some("integer" | "number") => number(keywords),
        Some("string") => {
            let example = format::of_schema(schema).and_then(format::StringFormat::example);
            let text = example.unwrap_or_default().to_owned();
            let missing = count("minLength").saturating_sub(text.chars().count());
            (text + &"a".repeat(missing.min(MAX_SAMPLE_LENGTH))).into()
        }
        Some("array") => {
            let prefix = keywords.get("prefixItems").and_then(Value::as_array);
            let mut items: Vec<Value> = prefix.into_iter().flatten().map(inner).collect();
            if let Some(others) = keywords.get("items") {
                items.resize_with(
                    items.len().max(count("minItems").min(MAX_SAMPLE_LENGTH)),
                    || inner(others),
                );
            }
            items.into()
        }
        Some("object") => object(keywords, inner),
        _ => Value::Null,
    }
}

/// Returns a number within the bounds.
fn number(keywords: &Map<String, Value>) -> Value {
    let bound = |keyword: &str| keywords.get(keyword).and_then(Value::as_i64);
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|bound| bound.saturating_add(1)));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|bound| bound.saturating_sub(1)));
    match (least, most) {
        (Some(least), _) => least.into(),
        (None, Some(most)) => most.min(0).into(),
        (None, None) => 0.into(),
    }
}

/// Returns an object with the required properties.
fn object(keywords: &Map<String, Value>, inner: impl Fn(&Value) -> Value) -> Value {
    let required = keywords.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let properties = keywords.get("properties");
    let member = |name: &str| {
        let property = properties.and_then(|all| all.get(name));
        (name.to_owned(), property.map_or(Value::Null, &inner))
    };
    names.map(member).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::Validator;

    #[test]
    fn a_sample_matches_its_schema() {
        for schema in [
            json!({"type": "boolean"}),
            json!({"type": "integer", "minimum": 3, "maximum": 4}),
            json!({"type": "integer", "maximum": -4}),
            json!({"type": "number", "exclusiveMinimum": 0}),
            json!({"type": "number", "exclusiveMaximum": 0}),
            json!({"type": "string", "minLength": 3}),
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": ["null", "string"]}),
            json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2}),
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "minItems": 2}),
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!({"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": "x"}}}, {"type": "string"}]}),
            json!({"type": "object", "required": ["a", "b"], "properties": {
                "a": {"$ref": "#/$defs/A"}, "b": {"type": "integer", "default": 5}, "c": {"type": "string"}},
                "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}}),
        ] {
            let value = sample(&schema, &schema);
            let faults = Validator::new(schema.clone()).unwrap().check(&value);
            assert!(faults.is_empty(), "{schema} {value}: {faults:?}");
        }
        assert_eq!(
            sample(&json!({"type": "string", "format": "date"}), &json!({})),
            "2026-07-28"
        );
        let endless = json!({"$ref": "#"});
        assert_eq!(sample(&endless, &endless), Value::Null);
    }
}
