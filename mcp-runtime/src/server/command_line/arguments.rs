//! Parses arguments typed on the command line as `a=1 b=true`, as a single JSON object, or as `@file`.

use std::fs;

use serde_json::{Map, Value};

/// Parses a call's arguments. The schema determines which values are strings and which are JSON.
pub(super) fn parse_arguments(words: &[String], schema: &Value) -> Result<Value, String> {
    if let [word] = words {
        if let Some(path) = word.strip_prefix('@') {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            return parse_object(&text).map_err(|problem| format!("{path} {problem}"));
        }
        if word.trim_start().starts_with('{') {
            return parse_object(word).map_err(|problem| format!("`{word}` {problem}"));
        }
    }
    let mut arguments = Map::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(format!(
                "`{word}` is not an argument: write `name=value`, one JSON object, or `@file`"
            ));
        };
        let value = parse_typed(&schema["properties"][name], text);
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(format!("argument `{name}` is given twice"));
        }
    }
    Ok(Value::Object(arguments))
}

fn parse_object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON: {error}")),
    }
}

/// Parses a value according to its schema. Text that does not match the schema is kept as a string, so that the server
/// reports the mistake.
pub(super) fn parse_typed(schema: &Value, text: &str) -> Value {
    if takes_text(schema) {
        return Value::from(text);
    }
    if schema["type"] == "boolean" && matches!(text, "y" | "yes" | "n" | "no") {
        return Value::from(text.starts_with('y'));
    }
    if schema["type"] == "array"
        && !text.trim_start().starts_with('[')
        && takes_text(&schema["items"])
    {
        return text.split(',').map(str::trim).collect();
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Returns `true` if the value may be a string or if its type is unknown.
fn takes_text(schema: &Value) -> bool {
    let any = |branches: &Value| {
        branches
            .as_array()
            .is_some_and(|all| all.iter().any(takes_text))
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

    fn read(words: &[&str]) -> Result<Value, String> {
        let schema = json!({"properties": {
            "count": {"type": "integer"}, "share": {"type": "number"}, "sure": {"type": "boolean"},
            "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}}, "place": {"type": "object"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "colour": {"enum": ["red", "1"]},
        }});
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_arguments(&words, &schema)
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        for (word, expected) in [
            ("count=3", json!({"count": 3})),
            ("count=three", json!({"count": "three"})),
            ("share=1.5", json!({"share": 1.5})),
            ("sure=true", json!({"sure": true})),
            ("sure=yes", json!({"sure": true})),
            ("name=3", json!({"name": "3"})),
            ("name=a=b", json!({"name": "a=b"})),
            ("name=", json!({"name": ""})),
            ("tags=[\"a\"]", json!({"tags": ["a"]})),
            ("tags=a, b", json!({"tags": ["a", "b"]})),
            ("sizes=[1,2]", json!({"sizes": [1, 2]})),
            ("place={\"city\":\"x\"}", json!({"place": {"city": "x"}})),
            ("maybe=null", json!({"maybe": null})),
            ("colour=1", json!({"colour": "1"})),
            ("unknown=1", json!({"unknown": "1"})),
            ("{\"count\": 1}", json!({"count": 1})),
        ] {
            assert_eq!(read(&[word]), Ok(expected), "{word}");
        }
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        for words in [
            &["count"][..],
            &["{\"a\""],
            &["a=1", "a=2"],
            &["@/no/such/file"],
            &["{}", "a=1"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
