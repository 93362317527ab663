//! Arguments as they are typed: `a=1 b=true`, one JSON object, or `@file`.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Map, Value};

/// Reads the arguments of a call; the schema says which values are text and which are JSON.
pub(super) fn arguments(words: &[String], schema: &Value) -> Result<Value, String> {
    if let [word] = words {
        if let Some(path) = word.strip_prefix('@') {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            return object(&text).map_err(|problem| format!("{path} {problem}"));
        }
        if word.trim_start().starts_with('{') {
            return object(word).map_err(|problem| format!("`{word}` {problem}"));
        }
    }
    let mut arguments = Map::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(format!(
                "`{word}` is no argument: write `name=value`, one JSON object, or `@file`"
            ));
        };
        let value = typed(&schema["properties"][name], text);
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(format!("argument `{name}` is given twice"));
        }
    }
    Ok(Value::Object(arguments))
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("is no JSON object".to_owned()),
        Err(error) => Err(format!("is no JSON: {error}")),
    }
}

/// The value of a text. What does not fit stays text, so that the server says what is wrong with it.
pub(super) fn typed(schema: &Value, text: &str) -> Value {
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

/// Whether a value may be text; so may one of which nothing is known.
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

/// What a schema takes, in a few words: `[{city: string, days?: integer}]`.
pub(super) fn kind(schema: &Value) -> String {
    kind_within(schema, DEEPEST)
}

/// How many objects inside of objects are spelled out.
const DEEPEST: usize = 3;

fn kind_within(schema: &Value, depth: usize) -> String {
    let inner = |schema: &Value| kind_within(schema, depth);
    let any_of = |all: &[Value], text: &dyn Fn(&Value) -> String| {
        all.iter().map(text).collect::<Vec<_>>().join("|")
    };
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    if let Some(all) = schema["enum"].as_array() {
        return any_of(all, &word);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(all) = schema[keyword].as_array() {
            return any_of(all, &inner);
        }
    }
    if !schema["const"].is_null() {
        return word(&schema["const"]);
    }
    match &schema["type"] {
        Value::String(name) => match name.as_str() {
            "array" => list(schema, depth),
            "object" => object_kind(schema, depth),
            "boolean" => "true|false".to_owned(),
            name => match (&schema["minimum"], &schema["maximum"]) {
                (Value::Number(least), Value::Number(most)) => format!("{name} {least} to {most}"),
                (Value::Number(least), _) => format!("{name} from {least}"),
                (_, Value::Number(most)) => format!("{name} to {most}"),
                _ => name.to_owned(),
            },
        },
        Value::Array(names) => any_of(names, &word),
        _ => match schema["$ref"].as_str() {
            Some(reference) => reference.rsplit('/').next().unwrap_or(reference).to_owned(),
            None => "anything".to_owned(),
        },
    }
}

/// `[integer from 0]`, `[string, integer]` of a tuple.
fn list(schema: &Value, depth: usize) -> String {
    if let Some(parts) = schema["prefixItems"].as_array() {
        let parts: Vec<_> = parts.iter().map(|part| kind_within(part, depth)).collect();
        return format!("[{}]", parts.join(", "));
    }
    match &schema["items"] {
        items @ Value::Object(_) => format!("[{}]", kind_within(items, depth)),
        _ => "[anything]".to_owned(),
    }
}

/// `{city: string, days?: integer}`, `{*: integer}` of a map.
fn object_kind(schema: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return "{…}".to_owned();
    };
    let mut members = members(schema, |property| kind_within(property, depth));
    if schema["additionalProperties"].is_object() {
        let other = kind_within(&schema["additionalProperties"], depth);
        members.push(format!("*: {other}"));
    }
    if members.is_empty() {
        return "object".to_owned();
    }
    format!("{{{}}}", members.join(", "))
}

/// The properties of an object: `name: kind`, or `name?: kind` if it may be left out.
pub(super) fn members(schema: &Value, kind: impl Fn(&Value) -> String) -> Vec<String> {
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let member = |(name, property): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        let mut text = format!("{name}{mark}: {}", kind(property));
        let default = &property["default"];
        if !default.is_null() {
            let _ = write!(text, " = {default}");
        }
        text
    };
    properties.map(member).collect()
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
        arguments(&words, &schema)
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
    fn what_is_taken_is_said_in_a_few_words() {
        for (schema, expected) in [
            (json!({"type": "integer", "minimum": 0}), "integer from 0"),
            (
                json!({"type": "array", "items": {"type": "integer", "minimum": 0}}),
                "[integer from 0]",
            ),
            (
                json!({"type": "array", "items": {"type": "object", "required": ["city"], "properties": {
                    "city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}}),
                "[{city: string, days?: integer = 3}]",
            ),
            (
                json!({"oneOf": [
                    {"type": "object", "required": ["kind", "radius"], "properties": {
                        "kind": {"const": "circle"}, "radius": {"type": "number"}}},
                    {"type": "string", "enum": ["point", "line"]}]}),
                "{kind: circle, radius: number}|point|line",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "{*: string}",
            ),
            (json!({"type": "object"}), "object"),
            (json!({"type": "array"}), "[anything]"),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]}),
                "[string, true|false]",
            ),
            (json!({"$ref": "#/$defs/Node"}), "Node"),
        ] {
            assert_eq!(kind(&schema), expected);
        }
        let deep = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        assert_eq!(
            kind(&deep(deep(deep(deep(json!({"type": "object"})))))),
            "{a?: {a?: {a?: {…}}}}"
        );
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
