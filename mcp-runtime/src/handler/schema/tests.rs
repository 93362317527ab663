//! The schemas of Rust types, as a model sees them.
#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    reason = "each case is next to the type it tests"
)]

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::handler::constraint::{Bound, Constraints};
use crate::handler::parameter::ParameterMeta;

/// Returns the schema of a parameter, or the problems with it.
fn argument(parameter: &ParameterMeta) -> String {
    let mut problems = Vec::new();
    let mut properties = Properties::new();
    let mut schema = properties.argument(parameter, &mut problems);
    properties.finish(&mut schema);
    if problems.is_empty() {
        schema.to_string()
    } else {
        problems.join("\n")
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Rust,
    Go,
}

/// A language.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Documented {
    /// Fast.
    Rust,
    /// Simple.
    Go,
    C,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Filter {
    /// Not before this day
    before: Option<String>,
    plain: Option<Plain>,
    #[serde(default)]
    limit: Option<u8>,
    many: Vec<Option<i32>>,
    documented: Documented,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closed {
    any: serde_json::Value,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Node {
    name: String,
    children: Vec<Node>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Newtype(u32);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Circle { radius: f64 },
    Square { side: Option<f64> },
}

fn check(parameter: ParameterMeta, expected: &Expect) {
    expected.assert_eq(&argument(&parameter));
}

#[test]
fn numbers_have_bounds_and_no_formats() {
    check(
        ParameterMeta::of::<u8, _>("a", ""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":255}"#]],
    );
    check(
        ParameterMeta::of::<i16, _>("a", ""),
        &expect![[r#"{"type":"integer","minimum":-32768,"maximum":32767}"#]],
    );
    check(
        ParameterMeta::of::<u32, _>("a", ""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":4294967295}"#]],
    );
    check(
        ParameterMeta::of::<i64, _>("a", ""),
        &expect![[r#"{"type":"integer"}"#]],
    );
    check(
        ParameterMeta::of::<u64, _>("a", ""),
        &expect![[r#"{"type":"integer","minimum":0}"#]],
    );
    check(
        ParameterMeta::of::<f64, _>("a", ""),
        &expect![[r#"{"type":"number"}"#]],
    );
    check(
        ParameterMeta::of::<Newtype, _>("a", ""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":4294967295}"#]],
    );
}

#[test]
fn absence_is_not_null() {
    check(
        ParameterMeta::of::<Option<String>, _>("a", "Words"),
        &expect![[r#"{"type":"string","description":"Words"}"#]],
    );
    check(
        ParameterMeta::of::<Option<Plain>, _>("a", ""),
        &expect![[r#"{"type":"string","enum":["rust","go"]}"#]],
    );
    check(
        ParameterMeta::of::<Option<Vec<Option<i8>>>, _>("a", ""),
        &expect![[
            r#"{"type":"array","items":{"type":["integer","null"],"minimum":-128,"maximum":127}}"#
        ]],
    );
}

#[test]
fn documented_variants_are_an_enum_and_a_description() {
    check(
        ParameterMeta::of::<Documented, _>("a", ""),
        &expect![[
            r#"{"description":"A language.\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}"#
        ]],
    );
    check(
        ParameterMeta::of::<Option<Documented>, _>("a", "Which"),
        &expect![[
            r#"{"description":"Which\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}"#
        ]],
    );
}

#[test]
fn structs_stand_in_place() {
    check(
        ParameterMeta::of::<Filter, _>("a", ""),
        &expect![[
            r#"{"type":"object","properties":{"before":{"type":"string","description":"Not before this day"},"plain":{"type":"string","enum":["rust","go"]},"limit":{"type":"integer","minimum":0,"maximum":255},"many":{"type":"array","items":{"type":["integer","null"],"minimum":-2147483648,"maximum":2147483647}},"documented":{"description":"A language.\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}},"required":["many","documented"]}"#
        ]],
    );
    check(
        ParameterMeta::of::<Closed, _>("a", ""),
        &expect![[
            r#"{"type":"object","additionalProperties":false,"properties":{"any":{}},"required":["any"]}"#
        ]],
    );
    check(
        ParameterMeta::of::<serde_json::Value, _>("a", ""),
        &expect!["{}"],
    );
    check(
        ParameterMeta::of::<Vec<serde_json::Value>, _>("a", ""),
        &expect![[r#"{"type":"array","items":{}}"#]],
    );
    check(
        ParameterMeta::of::<BTreeMap<String, u64>, _>("a", ""),
        &expect![[r#"{"type":"object","additionalProperties":{"type":"integer","minimum":0}}"#]],
    );
    check(
        ParameterMeta::of::<Tagged, _>("a", ""),
        &expect![[
            r#"{"oneOf":[{"type":"object","properties":{"kind":{"type":"string","const":"Circle"},"radius":{"type":"number"}},"required":["kind","radius"]},{"type":"object","properties":{"kind":{"type":"string","const":"Square"},"side":{"type":"number"}},"required":["kind"]}]}"#
        ]],
    );
}

#[test]
fn only_types_that_hold_themselves_are_referred_to() {
    check(
        ParameterMeta::of::<Node, _>("a", ""),
        &expect![[
            r##"{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name","children"],"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name","children"]}}}"##
        ]],
    );
}

#[test]
fn what_the_parameter_demands_is_in_the_schema() {
    let range = &Constraints {
        minimum: Some(Bound::Integer(1)),
        maximum: Some(Bound::Integer(9_223_372_036_854_775_807)),
        ..Constraints::NONE
    };
    check(
        ParameterMeta::of::<i64, _>("a", "")
            .constraints(range)
            .default_json("10"),
        &expect![[r#"{"type":"integer","minimum":1,"maximum":9223372036854775807,"default":10}"#]],
    );
    check(
        ParameterMeta::of::<u8, _>("a", "").constraints(range),
        &expect![[r#"{"type":"integer","minimum":1,"maximum":255}"#]],
    );
    const ITEM: Constraints = Constraints {
        max_length: Some(3),
        pattern: Some("^a"),
        ..Constraints::NONE
    };
    let list = &Constraints {
        min_length: Some(1),
        items: Some(&ITEM),
        example: Some(r#"["a"]"#),
        ..Constraints::NONE
    };
    check(
        ParameterMeta::of::<Option<Vec<String>>, _>("a", "")
            .constraints(list)
            .header("A"),
        &expect![[
            r#"{"type":"array","items":{"type":"string","maxLength":3,"pattern":"^a"},"minItems":1,"examples":[["a"]],"x-mcp-header":"A"}"#
        ]],
    );
}

#[test]
fn demands_that_make_no_sense_are_problems() {
    let range = &Constraints {
        minimum: Some(Bound::Integer(1)),
        ..Constraints::NONE
    };
    check(
        ParameterMeta::of::<Plain, _>("a", "").constraints(range),
        &expect!["argument `a`: `range` applies to numbers, but its schema allows none"],
    );
    let length = &Constraints {
        max_length: Some(1),
        pattern: Some("("),
        example: Some("x"),
        ..Constraints::NONE
    };
    let text = argument(&ParameterMeta::of::<Newtype, _>("a", "").constraints(length));
    assert_eq!(text.lines().count(), 3, "{text}");
    let pattern = &Constraints {
        pattern: Some("("),
        ..Constraints::NONE
    };
    assert!(
        argument(&ParameterMeta::of::<String, _>("a", "").constraints(pattern))
            .contains("not supported")
    );
}

#[test]
fn outputs_keep_their_nulls() {
    let schema = output_schema(|generator| Some(generator.subschema_for::<Filter>())).unwrap();
    expect![[r#"{"type":"object","properties":{"before":{"type":["string","null"],"description":"Not before this day"},"plain":{"type":["string","null"],"enum":["rust","go",null]},"limit":{"type":["integer","null"],"minimum":0,"maximum":255,"default":null},"many":{"type":"array","items":{"type":["integer","null"],"minimum":-2147483648,"maximum":2147483647}},"documented":{"description":"A language.\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}},"required":["before","plain","limit","many","documented"]}"#]]
        .assert_eq(&schema.to_string());
}

#[test]
fn enums_and_booleans_offer_their_values() {
    let values = |parameter: ParameterMeta| {
        candidates(&serde_json::from_str(&argument(&parameter)).unwrap())
    };
    assert_eq!(
        values(ParameterMeta::of::<Option<Documented>, _>("a", "")),
        ["c", "rust", "go"]
    );
    assert_eq!(
        values(ParameterMeta::of::<Option<bool>, _>("a", "")),
        ["true", "false"]
    );
    assert!(values(ParameterMeta::of::<String, _>("a", "")).is_empty());
    let choice = serde_json::json!({"anyOf": [{"oneOf": [{"const": "a"}, {"enum": ["b", 1, null]}]}, {"type": "boolean"}]});
    assert_eq!(candidates(&choice), ["a", "b", "1", "true", "false"]);
}

#[test]
fn what_model_apis_refuse_is_found_wherever_it_stands() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"anyOf": [{}, {}]}]},
            "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "tagged": {"oneOf": [{"type": "object", "properties": {"a/b": {"anyOf": []}}}]},
        },
    });
    assert_eq!(
        hard_for_models(&schema),
        [
            ("/pair".to_owned(), "a tuple"),
            ("/pair/1".to_owned(), "an untagged choice"),
            ("/list/*".to_owned(), "an untagged choice"),
            ("/tagged/0/a~1b".to_owned(), "an untagged choice"),
        ]
    );
}
