use serde_json::{Value, json};

use super::*;
use crate::ProtocolVersion::{V2025_06_18, V2025_11_25, V2026_07_28};

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

/// Returns the value in the form in which a message contains it.
fn as_sent(root: OutputRoot, given: &Value, version: ProtocolVersion) -> Value {
    if root.wraps(&raw(given), version) {
        json!({ MEMBER: given })
    } else {
        given.clone()
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn values_match_their_output_schema_with_an_object_root() {
    let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let list = json!({"type": "array", "items": object});
    let tagged = json!({"oneOf": [object, {"type": "object", "required": ["b"]}]});
    let node = json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}});
    let recursive = json!({"$ref": "#/$defs/Node", "$defs": {"Node": node}});
    let nodes =
        json!({"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": node}});
    let with_type = |schema: &Value| {
        let mut schema = schema.clone();
        schema["type"] = json!("object");
        schema
    };
    let wrapped = |schema: &Value| json!({"type": "object", "properties": {"result": schema}, "required": ["result"]});
    let with_definitions = |properties: &Value, definitions: &Value| {
        let mut wrapped = wrapped(properties);
        wrapped["$defs"] = definitions.clone();
        wrapped
    };
    // The root refers to itself, and one of its definitions refers to it.
    let list_of_lists = json!({
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/Pair"}]},
        "$defs": {"Pair": {"type": "object", "properties": {"of": {"$ref": "#/items"}}}, "Result": {}},
    });
    for (schema, expected, values) in [
        (&object, object.clone(), vec![json!({"a": 1})]),
        (&tagged, with_type(&tagged), vec![json!({"a": 1})]),
        (
            &recursive,
            with_type(&recursive),
            vec![json!({"next": {"next": null}})],
        ),
        (&list, wrapped(&list), vec![json!([]), json!([{"a": 1}])]),
        (
            &json!({"anyOf": [object, {"type": "null"}]}),
            wrapped(&json!({"anyOf": [object, {"type": "null"}]})),
            vec![json!({"a": 1}), json!(null)],
        ),
        (
            &json!({"allOf": [object, {}]}),
            with_type(&json!({"allOf": [object, {}]})),
            vec![json!({"a": 1})],
        ),
        (
            &nodes,
            with_definitions(
                &json!({"type": "array", "items": {"$ref": "#/$defs/Node"}}),
                &json!({ "Node": node }),
            ),
            vec![json!([]), json!([{"next": {"next": null}}])],
        ),
        (
            &json!({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "$defs": {"Node": node}}),
            with_definitions(
                &json!({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}),
                &json!({ "Node": node }),
            ),
            vec![json!(null), json!({"next": {"next": null}})],
        ),
        (
            &list_of_lists,
            with_definitions(
                &json!({"$ref": "#/$defs/Result2"}),
                &json!({
                    "Pair": {"type": "object", "properties": {"of": {"$ref": "#/$defs/Result2/items"}}},
                    "Result": {},
                    "Result2": {
                        "type": "array",
                        "items": {"anyOf": [{"$ref": "#/$defs/Result2"}, {"$ref": "#/$defs/Pair"}]},
                    },
                }),
            ),
            vec![json!([]), json!([[[]], {"of": []}, {"of": {"of": []}}])],
        ),
        (
            &json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"}),
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"result": {"type": "string"}},
                "required": ["result"],
            }),
            vec![json!("text")],
        ),
        // A circular reference does not constrain the values.
        (
            &json!({"$ref": "#"}),
            with_definitions(
                &json!({"$ref": "#/$defs/Result"}),
                &json!({"Result": {"$ref": "#/$defs/Result"}}),
            ),
            vec![],
        ),
        (
            &json!({}),
            wrapped(&json!({})),
            vec![json!(1), json!({"a": 1})],
        ),
        (&json!(true), wrapped(&json!(true)), vec![json!(1)]),
    ] {
        let shaped = value(&object_schema(raw(schema)));
        assert_eq!(shaped, expected);
        let root = OutputRoot::from_schema(Some(&raw(schema)));
        for given in values {
            assert_eq!(as_sent(root, &given, V2026_07_28), given);
            for version in [V2025_06_18, V2025_11_25] {
                let given = as_sent(root, &given, version);
                let validator = jsonschema::validator_for(&shaped).unwrap();
                assert!(validator.is_valid(&given), "{given} {shaped}");
            }
        }
    }
}

#[test]
fn without_an_output_schema_only_values_that_are_no_objects_are_wrapped() {
    let root = OutputRoot::from_schema(None);
    for (given, expected) in [
        (json!({"result": 1}), json!({"result": 1})),
        (json!(null), json!({"result": null})),
        (json!([1]), json!({"result": [1]})),
    ] {
        assert_eq!(as_sent(root, &given, V2025_11_25), expected);
    }
}
