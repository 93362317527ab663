//! Tests the validator's messages and its agreement with another implementation.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::explain::{LISTED, describe_faults};

fn explained(schema: Value, value: &Value) -> String {
    describe_faults(&Validator::new(schema).unwrap().check(value))
}

#[test]
fn messages_about_sizes_name_the_allowed_sizes() {
    for (schema, value, expected) in [
        (
            json!({"minLength": 1, "maxLength": 200}),
            json!(""),
            "has 0 characters, but must have 1 to 200",
        ),
        (
            json!({"maxItems": 1}),
            json!([1, 2]),
            "has 2 items, but may have at most 1",
        ),
        (
            json!({"prefixItems": [{}], "items": false}),
            json!([1, 2]),
            "has 2 items, but may have at most 1",
        ),
        (
            json!({"minItems": 2}),
            json!([1]),
            "has 1 item, but must have at least 2",
        ),
        (
            json!({"minLength": 2, "maxLength": 2}),
            json!("a"),
            "has 1 character, but must have exactly 2",
        ),
    ] {
        assert_eq!(explained(schema, &value), expected);
    }
}

#[test]
fn validation_messages_name_the_expected_value() {
    let cases = [
        (
            json!({"enum": ["rust", "go"]}),
            json!("rsut"),
            "unknown value \"rsut\"; did you mean \"rust\"? (allowed: \"rust\", \"go\")",
        ),
        (
            json!({"enum": ["rust", "go"]}),
            json!("c"),
            "unknown value \"c\"; allowed: \"rust\", \"go\"",
        ),
        (
            json!({"type": "integer"}),
            json!("a"),
            "expected integer, received \"a\"",
        ),
        (
            json!({"type": ["integer", "null"]}),
            json!([]),
            "expected integer or null, received []",
        ),
        (json!({"minimum": 1}), json!(0), "0 is less than 1"),
        (json!({"maximum": 255}), json!(300), "300 is more than 255"),
        (json!({"maximum": 5.0}), json!(9), "9 is more than 5"),
        (json!({"maximum": 0.5}), json!(9.0), "9.0 is more than 0.5"),
        (json!({"minimum": 1e20}), json!(9), "9 is less than 1e+20"),
        (
            json!({"multipleOf": 5.0}),
            json!(7),
            "7 is not a multiple of 5",
        ),
        (
            json!({"multipleOf": 5}),
            json!(7),
            "7 is not a multiple of 5",
        ),
        (
            json!({"pattern": "^[a-z]+$"}),
            json!("A"),
            "\"A\" does not match the pattern `^[a-z]+$`",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 1.0]),
            "/1: 1.0 is already in the list; items must be unique",
        ),
        (
            json!({"properties": {"before": {}}, "additionalProperties": false}),
            json!({"befor": 1}),
            "unknown property `befor`; did you mean `before`?",
        ),
        (
            json!({"properties": {"a/b": {"type": "string"}}, "required": ["a/b"]}),
            json!({}),
            "missing property `a/b`; expected string",
        ),
        (
            json!({"required": ["items"], "properties": {"items": {"type": "array", "items": {
                "type": "object", "required": ["amount", "sku"], "properties": {
                    "amount": {"type": "integer"}, "sku": {"type": "string"}}}}}}),
            json!({}),
            "missing property `items`; expected [{amount: integer, sku: string}]",
        ),
        (
            json!({"properties": {"a/b": {"items": {"type": "string"}}}}),
            json!({"a/b": ["x", 3]}),
            "/a~1b/1: expected string, received 3",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            json!([]),
            "expected string or integer, received []",
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                {"type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "number"}}, "required": ["kind", "a"]}
            ]}),
            json!({"kind": "sqare", "a": 1}),
            "/kind: unknown value \"sqare\"; did you mean \"square\"? (allowed: \"circle\", \"square\")",
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                {"type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "number"}}, "required": ["kind", "a"]}
            ]}),
            json!({"kind": "square", "a": "1"}),
            "/a: expected number, received \"1\"",
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(
            explained(schema.clone(), &value),
            expected,
            "{schema} {value}"
        );
    }
}

#[test]
fn a_long_list_of_validation_errors_is_shortened() {
    let text = explained(json!({"items": {"type": "string"}}), &json!(vec![1; 90]));
    assert_eq!(text.lines().count(), 21);
    assert!(text.ends_with("… and 70 more"), "{text}");
}

// Covers: JSCH-01, JSCH-02
#[test]
fn schemas_with_unsupported_features_are_refused() {
    for (schema, reason) in [
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            "the only supported dialect",
        ),
        (
            json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}),
            "leaves the document",
        ),
        (json!({"$ref": "other.json"}), "leaves the document"),
        (json!({"$ref": "#/$defs/a"}), "points to nothing"),
        (json!({"$ref": "#a"}), "points to nothing"),
        (
            json!({"$ref": "#/other", "other": {"pattern": "("}}),
            "points to nothing",
        ),
        (json!({"pattern": "("}), "not supported"),
        (json!({"pattern": "(?=a)"}), "not supported"),
        (json!({"$dynamicRef": "#a"}), "dynamic"),
        (json!({"type": "text"}), "type"),
        (json!({"required": "a"}), "list of names"),
        (json!({"minimum": "1"}), "number"),
        (json!({"anyOf": []}), "non-empty"),
        (json!({"properties": {"a": 1}}), "object or a boolean"),
        (json!({"items": {"$id": "a"}}), "only at the root"),
        (json!([]), "object or a boolean"),
    ] {
        let problem = Validator::new(schema.clone()).unwrap_err();
        assert!(problem.contains(reason), "{schema}: {problem}");
    }
}

#[test]
fn validation_of_recursive_schemas_terminates() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        assert_eq!(explained(schema, &json!(1)), "too complex to be checked");
    }
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    let mut value = json!({});
    for _ in 0..60 {
        value = json!({"next": value});
    }
    assert_eq!(explained(tree, &value), "");
}

// Covers: JSCH-03
#[test]
fn validation_of_exponential_schemas_is_bounded() {
    // Each level refers to the next one twice, and both references fail, so without a limit the work would grow
    // exponentially.
    let mut schema = json!({"$defs": {}});
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        schema["$defs"][level.to_string()] = json!({"anyOf": [next.clone(), next]});
    }
    schema["$defs"]["60"] = json!(false);
    schema["$ref"] = json!("#/$defs/0");
    assert_eq!(explained(schema, &json!(1)), "too complex to be checked");
}

/// Schemas that use every keyword, alone and in combination.
fn schemas() -> Vec<Value> {
    vec![
        json!(true),
        json!(false),
        json!({"type": "integer"}),
        json!({"type": ["string", "null", "number"]}),
        json!({"enum": [1, "a", null, [1], {"a": 1}]}),
        json!({"const": {"a": [1, 2]}}),
        json!({"minimum": 0, "exclusiveMaximum": 3}),
        json!({"multipleOf": 0.5}),
        json!({"multipleOf": 0.1}),
        json!({"minLength": 1, "maxLength": 2}),
        json!({"pattern": "^a|b$"}),
        json!({"pattern": "[^a-z]"}),
        json!({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "boolean"}}),
        json!({"prefixItems": [{"type": "integer"}], "items": false}),
        json!({"minItems": 1, "maxItems": 2, "uniqueItems": true}),
        json!({"contains": {"type": "integer"}, "minContains": 1, "maxContains": 2}),
        json!({"contains": {"type": "integer"}, "minContains": 0}),
        json!({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        json!({"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
        json!({"propertyNames": {"maxLength": 1}, "minProperties": 1, "maxProperties": 2}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
        json!({"allOf": [{"type": "integer"}, {"minimum": 2}]}),
        json!({"anyOf": [{"type": "integer"}, {"minLength": 2}]}),
        json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
        json!({"not": {"type": "integer"}}),
        json!({"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}}),
        json!({"$defs": {"node": {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "additionalProperties": false}}, "$ref": "#/$defs/node"}),
        json!({"$defs": {"x": {"$anchor": "x", "type": "array", "items": {"$ref": "#x"}}}, "$ref": "#x"}),
        json!({"properties": {"a": true}, "unevaluatedProperties": false}),
        json!({"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": true}, "required": ["b"]}], "unevaluatedProperties": false}),
        json!({"allOf": [{"properties": {"a": true}}], "if": {"required": ["b"]}, "then": {"properties": {"b": true}}, "unevaluatedProperties": {"type": "integer"}}),
        json!({"prefixItems": [true], "unevaluatedItems": false}),
        json!({"contains": {"type": "integer"}, "unevaluatedItems": {"type": "string"}}),
        json!({"allOf": [{"prefixItems": [true, {"type": "string"}]}], "unevaluatedItems": false}),
        json!({"not": {"properties": {"a": {"type": "integer"}}, "unevaluatedProperties": false}}),
        json!({"oneOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"a": {"const": 2}, "b": true}}], "unevaluatedProperties": false}),
        json!({"dependentSchemas": {"a": {"properties": {"b": true}}}, "properties": {"a": true}, "unevaluatedProperties": false}),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        (-4_i32..12).prop_map(|half| Value::from(f64::from(half) / 2.0)),
        (0_i32..12).prop_map(|tenth| Value::from(f64::from(tenth) / 10.0)),
        "[abä]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[abc]{1,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn validation_agrees_with_the_jsonschema_crate(value in values()) {
        thread_local! {
            static PAIRS: Vec<(Value, Validator, jsonschema::Validator)> = schemas()
                .into_iter()
                .map(|schema| (schema.clone(), Validator::new(schema.clone()).unwrap(), jsonschema::draft202012::new(&schema).unwrap()))
                .collect();
        }
        PAIRS.with(|pairs| {
            for (schema, ours, theirs) in pairs {
                let faults = ours.check(&value);
                assert_eq!(faults.is_empty(), theirs.is_valid(&value), "{schema} {value} {faults:?}");
            }
        });
    }
}

#[test]
fn a_long_list_of_allowed_values_is_cut() {
    let allowed: Vec<_> = (0..LISTED + 3)
        .map(|number| format!("value-{number}"))
        .collect();
    let text = explained(json!({"enum": allowed}), &json!("?"));
    assert!(
        text.contains(&format!("\"value-{}\", 3 more", LISTED - 1)),
        "{text}"
    );
}

#[test]
fn a_schema_with_a_keyword_of_the_wrong_type_is_refused() {
    for (keyword, expected) in [
        ("minLength", "a non-negative whole number"),
        ("maxContains", "a non-negative whole number"),
        ("uniqueItems", "a boolean"),
        ("maximum", "a number"),
        ("enum", "a list"),
    ] {
        let problem = Validator::new(json!({keyword: "x"})).unwrap_err();
        assert!(problem.contains(expected), "{keyword}: {problem}");
    }
}

#[test]
fn branches_that_fail_at_different_values_are_not_merged() {
    let schema = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"enum": ["circle"]}}, "required": ["kind"]},
        {"type": "object", "properties": {"form": {"enum": ["square"]}}, "required": ["form"]},
    ]});
    let text = explained(schema, &json!({"kind": "oval", "form": "cube"}));
    assert!(
        !(text.contains("circle") && text.contains("square")),
        "{text}"
    );
}
