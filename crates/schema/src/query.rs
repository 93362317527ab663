//! Queries about the values that a schema allows.

use serde_json::Value;

/// Returns `true` if the schema may allow values of this type, judging by its keywords.
#[must_use]
pub fn allows(schema: &Value, kind: &str) -> bool {
    let Some(object) = schema.as_object() else {
        return schema != &Value::Bool(false);
    };
    let mut is_named = false;
    match object.get("type") {
        Some(Value::String(name)) => {
            if name != kind && !(name == "number" && kind == "integer") {
                return false;
            }
            is_named = true;
        }
        Some(Value::Array(names)) => {
            if !names
                .iter()
                .any(|name| name == kind || (name == "number" && kind == "integer"))
            {
                return false;
            }
            is_named = true;
        }
        _ => {}
    }
    let matches = |value: &Value| match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" | "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    if let Some(Value::Array(allowed)) = object.get("enum") {
        return allowed.iter().any(matches);
    }
    if let Some(value) = object.get("const") {
        return matches(value);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = object.get(keyword) {
            return branches.iter().any(|branch| allows(branch, kind));
        }
    }
    if let Some(Value::Array(parts)) = object.get("allOf") {
        return parts.iter().all(|part| allows(part, kind));
    }
    is_named || !object.contains_key("not")
}

/// Returns the completion candidates that a schema implies: the values of an `enum`, a `const` or a `bool`, including
/// those in the branches of a choice.
#[must_use]
pub fn candidates(schema: &Value) -> Vec<String> {
    let mut values = Vec::new();
    collect_candidates(schema, 0, &mut values);
    values
}

fn collect_candidates(schema: &Value, depth: u32, values: &mut Vec<String>) {
    let Some(object) = schema.as_object().filter(|_| depth < 16) else {
        return;
    };
    let mut add = |value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return,
        };
        if !values.contains(&text) {
            values.push(text);
        }
    };
    if let Some(Value::Array(allowed)) = object.get("enum") {
        allowed.iter().for_each(add);
        return;
    }
    if let Some(value) = object.get("const") {
        add(value);
        return;
    }
    let boolean = |name: &Value| name == "boolean";
    if object.get("type").is_some_and(|kind| {
        boolean(kind)
            || kind
                .as_array()
                .is_some_and(|names| names.iter().any(boolean))
    }) {
        add(&Value::Bool(true));
        add(&Value::Bool(false));
    }
    for keyword in ["oneOf", "anyOf"] {
        for branch in object
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            collect_candidates(branch, depth + 1, values);
        }
    }
}
