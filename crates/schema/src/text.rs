//! Values that people write as plain text, on a command line or in an environment variable.

use serde_json::Value;

/// Converts text to a value of the type that a schema requires.
///
/// If the schema allows a string, the text is used unchanged. Booleans can be written as `true`, `yes`, `y`, `on`, `1`
/// or their opposites, in upper or lower case; list items can be separated by commas; and all other values are written
/// as JSON. Text that does not have the required form is returned as a string, so that the validator can explain the
/// mistake.
#[must_use]
pub fn read_text(schema: &Value, text: &str) -> Value {
    let is = |kind: &str| schema["type"] == kind;
    if accepts_text(schema) {
        return Value::from(text);
    }
    if is("boolean") {
        return match &*text.to_ascii_lowercase() {
            "true" | "yes" | "y" | "on" | "1" => Value::Bool(true),
            "false" | "no" | "n" | "off" | "0" => Value::Bool(false),
            _ => Value::from(text),
        };
    }
    if is("array") && !text.trim_start().starts_with('[') {
        let items = text.split(',').map(str::trim);
        return items
            .map(|item| read_text(&schema["items"], item))
            .collect();
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Returns `true` if the value may be a string, or if it has no schema.
fn accepts_text(schema: &Value) -> bool {
    let any = |branches: &Value| {
        branches
            .as_array()
            .is_some_and(|all| all.iter().any(accepts_text))
    };
    match &schema["type"] {
        Value::String(name) => name == "string",
        Value::Array(names) => names.iter().any(|name| name == "string"),
        _ => match (&schema["enum"], &schema["const"]) {
            (Value::Array(values), _) => values.iter().any(Value::is_string),
            (_, Value::String(_)) => true,
            _ if schema.is_null() => true,
            _ => any(&schema["anyOf"]) || any(&schema["oneOf"]),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_becomes_the_type_of_the_schema() {
        let list = |items: Value| json!({"type": "array", "items": items});
        for (schema, text, expected) in [
            (json!({"type": "string"}), "3", json!("3")),
            (json!({"type": ["string", "null"]}), "null", json!("null")),
            (json!({"enum": ["red", 1]}), "1", json!("1")),
            (json!({"const": "a"}), "a", json!("a")),
            (json!({"enum": [1, 2]}), "1", json!(1)),
            (json!({"type": "integer"}), "3", json!(3)),
            (json!({"type": "integer"}), "three", json!("three")),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (json!({"type": "boolean"}), "n", json!(false)),
            (json!({"type": "boolean"}), "0", json!(false)),
            (json!({"type": "boolean"}), "maybe", json!("maybe")),
            (list(json!({"type": "integer"})), "1, 2", json!([1, 2])),
            (list(json!({"type": "integer"})), "[1,2]", json!([1, 2])),
            (list(json!({"type": "string"})), "a,1", json!(["a", "1"])),
            (
                list(json!({"type": "boolean"})),
                "on,off",
                json!([true, false]),
            ),
            (json!({"type": "object"}), "{\"a\":1}", json!({"a": 1})),
            (json!({"type": "object"}), "{", json!("{")),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                "null",
                json!(null),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
                "1",
                json!("1"),
            ),
            // Any value is allowed, so the text is parsed as JSON if possible.
            (json!({}), "{\"a\":1}", json!({"a": 1})),
            (json!(true), "a", json!("a")),
            (json!(null), "1", json!("1")),
        ] {
            assert_eq!(read_text(&schema, text), expected, "{schema} {text}");
        }
    }
}
