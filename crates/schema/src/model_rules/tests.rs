//! Tests that each rule can be broken, and that plain schemas break none.

use serde_json::{Value, json};

use super::*;

fn found(name: &str, schema: &Value) -> Vec<String> {
    let breaches = breaches(Some(name), schema, Severity::ALL);
    let text =
        |breach: &ModelRuleBreach| format!("{}: {}", breach.rule.severity.as_str(), breach.text);
    breaches.iter().map(text).collect()
}

fn closed(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn of(argument: &Value) -> Value {
    closed(&json!({ "a": argument }))
}

/// Returns a schema with this many values.
fn values(count: usize) -> Value {
    let values: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
    json!({"type": "string", "enum": values})
}

/// Returns tools, each with its only finding.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn broken() -> Vec<(&'static str, Value, &'static str)> {
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = of(&deep);
    }
    let second = json!({"type": "integer", "minimum": 0});
    vec![
        (
            "a.b",
            closed(&json!({})),
            "refused: some clients reject this name",
        ),
        (
            "",
            closed(&json!({})),
            "refused: some clients reject this name",
        ),
        (
            "a",
            json!({"type": "string", "properties": {}}),
            "refused: the schema of the arguments is not of type `object`",
        ),
        (
            "a",
            json!({"type": "object", "properties": {}, "additionalProperties": false, "anyOf": []}),
            "refused: the schema of the arguments has `anyOf` at its root",
        ),
        (
            "a",
            json!({"type": "object", "additionalProperties": false}),
            "refused: the schema of the arguments has no `properties`",
        ),
        (
            "a",
            of(
                &json!({"type": "object", "properties": {}, "required": ["b"], "additionalProperties": false}),
            ),
            "refused: /a requires `b`, which it does not declare",
        ),
        (
            "a",
            of(&json!({"type": "array", "items": true})),
            "refused: /a/items is a boolean instead of a schema",
        ),
        (
            "a",
            of(&json!({"type": "string", "enum": ["b", ""]})),
            "refused: /a has an empty string among its `enum` values",
        ),
        (
            "a",
            of(&json!({"anyOf": [values(500), values(501)]})),
            "advice: the schema has 1001 `enum` values",
        ),
        (
            "a",
            of(&json!({"$ref": "#/$defs/a"})),
            "refused: /a refers to another schema with `$ref`",
        ),
        (
            "a",
            of(&json!({"type": ["string", "null"]})),
            "refused: /a has several types: [\"string\",\"null\"]",
        ),
        (
            "a",
            of(&json!({"description": "x"})),
            "advice: /a has no type",
        ),
        (
            "a",
            of(&json!({"type": "array"})),
            "refused: /a is an array without `items`",
        ),
        (
            "a",
            of(&json!({"type": "integer", "enum": [1]})),
            "refused: /a has non-string `enum` values",
        ),
        (
            "a",
            closed(&json!({"a b": {"type": "string"}})),
            "refused: some clients reject the name of /a b",
        ),
        (
            "a",
            closed(&json!({"1": {"type": "string"}})),
            "advice: some clients reject the name of /1",
        ),
        (
            "a",
            closed(&json!({"a-b": {"type": "string"}})),
            "advice: some clients reject the name of /a-b",
        ),
        (
            "a",
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
            "advice: the schema is a map",
        ),
        (
            "a",
            json!({"type": "object", "properties": {}}),
            "advice: the schema accepts unknown properties",
        ),
        (
            "a",
            of(&json!({"oneOf": [{"type": "string"}]})),
            "advice: /a has alternatives (`oneOf`)",
        ),
        (
            "a",
            of(&json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
            "advice: /a has `uniqueItems`",
        ),
        (
            "a",
            of(&json!({"type": "number", "exclusiveMinimum": 0})),
            "advice: /a has `exclusiveMinimum`",
        ),
        (
            "a",
            of(&json!({"type": "string", "format": "uri"})),
            "advice: /a has the format `uri`",
        ),
        ("a", deep, "advice: objects are nested 11 levels deep"),
        (
            "a",
            of(&closed(&json!({"secs": second, "nanos": second}))),
            "advice: /a is a time in seconds and nanoseconds",
        ),
        (
            "a",
            of(
                &json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}),
            ),
            "advice: /a is a list of bytes",
        ),
    ]
}

#[test]
fn each_model_rule_is_broken_by_one_of_the_cases() {
    let cases = broken();
    for (name, schema, expected) in &cases {
        assert_eq!(found(name, schema), [*expected], "{schema}");
    }
    let rules: std::collections::BTreeSet<*const ModelRule> = cases
        .iter()
        .flat_map(|(name, schema, _)| breaches(Some(name), schema, Severity::ALL))
        .map(|breach| std::ptr::from_ref(breach.rule))
        .collect();
    assert_eq!(rules.len(), MODEL_RULES.len());
}

#[test]
fn plain_schemas_break_no_rule() {
    for argument in [
        values(1_000),
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false}),
        json!({"type": "integer", "minimum": 1, "default": 3}),
        json!({"type": "string", "format": "date", "description": "Day", "examples": ["2026-07-28"]}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 23}}),
        json!({"anyOf": [
            closed(&json!({"kind": {"type": "string", "enum": ["a"]}})),
            closed(&json!({"kind": {"type": "string", "enum": ["b"]}})),
        ]}),
    ] {
        assert_eq!(found("a", &of(&argument)), [""; 0], "{argument}");
    }
}
