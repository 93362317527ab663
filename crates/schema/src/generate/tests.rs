//! Tests the schemas generated for Rust types, as a model sees them.
#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    reason = "each case is next to the type it tests"
)]

mod choices;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::constraint::{Bound, Constraints};
use crate::model_rules::{Severity, breaches};
use crate::query::candidates;

/// Returns a property of the type `T`.
fn of<T: JsonSchema>(description: &'static str) -> Property<'static> {
    Property {
        name: "a",
        description,
        schema: |generator| Some(generator.subschema_for::<T>()),
        constraints: &Constraints::NONE,
        default: None,
    }
}

/// Returns the schema of a property, or the problems with it.
fn schema_of(property: Property<'_>) -> String {
    let mut problems = Vec::new();
    let mut properties = Properties::new(&[property.schema]);
    let mut schema = properties.property(property, &mut problems);
    properties.finish(&mut schema);
    if problems.is_empty() {
        schema_to_publish(&schema).unwrap_or(schema).to_string()
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

fn check(property: Property<'_>, expected: &Expect) {
    expected.assert_eq(&schema_of(property));
}

#[test]
fn numbers_have_bounds_and_no_formats() {
    check(
        of::<u8>(""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":255}"#]],
    );
    check(
        of::<i16>(""),
        &expect![[r#"{"type":"integer","minimum":-32768,"maximum":32767}"#]],
    );
    check(
        of::<u32>(""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":4294967295}"#]],
    );
    check(of::<i64>(""), &expect![[r#"{"type":"integer"}"#]]);
    check(
        of::<u64>(""),
        &expect![[r#"{"type":"integer","minimum":0}"#]],
    );
    check(of::<f64>(""), &expect![[r#"{"type":"number"}"#]]);
    check(
        of::<Newtype>(""),
        &expect![[r#"{"type":"integer","minimum":0,"maximum":4294967295}"#]],
    );
}

#[test]
fn optional_parameters_do_not_accept_null_in_the_schema() {
    check(
        of::<Option<String>>("Words"),
        &expect![[r#"{"type":"string","description":"Words"}"#]],
    );
    check(
        of::<Option<Plain>>(""),
        &expect![[r#"{"type":"string","enum":["rust","go"]}"#]],
    );
    check(
        of::<Option<Vec<Option<i8>>>>(""),
        &expect![[
            r#"{"type":"array","items":{"type":["integer","null"],"minimum":-128,"maximum":127}}"#
        ]],
    );
}

#[test]
fn documented_variants_are_an_enum_and_a_description() {
    check(
        of::<Documented>(""),
        &expect![[
            r#"{"description":"A language.\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}"#
        ]],
    );
    check(
        of::<Option<Documented>>("Which"),
        &expect![[
            r#"{"description":"Which\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}"#
        ]],
    );
}

#[test]
fn struct_schemas_are_inlined() {
    check(
        of::<Filter>(""),
        &expect![[
            r#"{"type":"object","properties":{"before":{"type":"string","description":"Not before this day"},"plain":{"type":"string","enum":["rust","go"]},"limit":{"type":"integer","minimum":0,"maximum":255},"many":{"type":"array","items":{"type":["integer","null"],"minimum":-2147483648,"maximum":2147483647}},"documented":{"description":"A language.\n\n- `rust`: Fast.\n- `go`: Simple.","type":"string","enum":["c","rust","go"]}},"required":["many","documented"]}"#
        ]],
    );
    check(
        of::<Closed>(""),
        &expect![[
            r#"{"type":"object","additionalProperties":false,"properties":{"any":{}},"required":["any"]}"#
        ]],
    );
    check(of::<serde_json::Value>(""), &expect!["{}"]);
    check(
        of::<Vec<serde_json::Value>>(""),
        &expect![[r#"{"type":"array","items":{}}"#]],
    );
    check(
        of::<BTreeMap<String, u64>>(""),
        &expect![[r#"{"type":"object","additionalProperties":{"type":"integer","minimum":0}}"#]],
    );
    check(
        of::<Tagged>(""),
        &expect![[
            r#"{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","enum":["Circle"]},"radius":{"type":"number"}},"required":["kind","radius"]},{"type":"object","properties":{"kind":{"type":"string","enum":["Square"]},"side":{"type":"number"}},"required":["kind"]}]}"#
        ]],
    );
}

#[test]
fn only_recursive_types_are_written_as_references() {
    check(
        of::<Node>(""),
        &expect![[
            r##"{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name","children"],"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name","children"]}}}"##
        ]],
    );
}

#[test]
fn the_constraints_of_a_parameter_are_in_its_schema() {
    let range = &Constraints {
        minimum: Some(Bound::Integer(1)),
        maximum: Some(Bound::Integer(9_223_372_036_854_775_807)),
        ..Constraints::NONE
    };
    check(
        Property {
            constraints: range,
            default: Some(Ok(10.into())),
            ..of::<i64>("")
        },
        &expect![[r#"{"type":"integer","minimum":1,"maximum":9223372036854775807,"default":10}"#]],
    );
    check(
        Property {
            constraints: range,
            ..of::<u8>("")
        },
        &expect![[r#"{"type":"integer","minimum":1,"maximum":255}"#]],
    );
    let exclusive = &Constraints {
        exclusive_minimum: Some(Bound::Integer(0)),
        exclusive_maximum: Some(Bound::Integer(10)),
        ..Constraints::NONE
    };
    check(
        Property {
            constraints: exclusive,
            ..of::<f64>("")
        },
        &expect![[r#"{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":10}"#]],
    );
    check(
        Property {
            constraints: exclusive,
            ..of::<u8>("")
        },
        &expect![[r#"{"type":"integer","minimum":1,"maximum":9}"#]],
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
        Property {
            constraints: list,
            ..of::<Option<Vec<String>>>("")
        },
        &expect![[
            r#"{"type":"array","items":{"type":"string","maxLength":3,"pattern":"^a"},"minItems":1,"examples":[["a"]]}"#
        ]],
    );
}

#[test]
fn constraints_that_do_not_fit_the_schema_are_problems() {
    let range = &Constraints {
        minimum: Some(Bound::Integer(1)),
        ..Constraints::NONE
    };
    check(
        Property {
            constraints: range,
            ..of::<Plain>("")
        },
        &expect![[
            r#"argument `a`: `range` applies to numbers, but the schema does not allow numbers; if its strings are numbers, as those of `Decimal` are, take a newtype whose `TryFrom` checks the range, with `#[serde(try_from = "…")]`"#
        ]],
    );
    let length = &Constraints {
        max_length: Some(1),
        pattern: Some("("),
        example: Some("x"),
        ..Constraints::NONE
    };
    let text = schema_of(Property {
        constraints: length,
        ..of::<Newtype>("")
    });
    assert_eq!(text.lines().count(), 3, "{text}");
    let pattern = &Constraints {
        pattern: Some("("),
        ..Constraints::NONE
    };
    assert!(
        schema_of(Property {
            constraints: pattern,
            ..of::<String>("")
        })
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
fn outputs_allow_additional_members() {
    // The type refuses them only when it reads.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Both {
        id: u64,
        inner: Option<Closed>,
        choice: Overlapping,
    }
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, untagged)]
    enum Overlapping {
        A { a: Option<u64> },
        B { b: Option<u64> },
    }
    #[derive(Serialize, Deserialize, JsonSchema)]
    enum Outside {
        A(u64),
        B(u64),
    }
    let schema = output_schema(|generator| Some(generator.subschema_for::<Both>())).unwrap();
    expect![[r#"{"type":"object","properties":{"id":{"type":"integer","minimum":0},"inner":{"type":["object","null"],"properties":{"any":{}},"required":["any"]},"choice":{"anyOf":[{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":0}},"required":["a"]},{"type":"object","properties":{"b":{"type":["integer","null"],"minimum":0}},"required":["b"]}]}},"required":["id","inner","choice"]}"#]].assert_eq(&schema.to_string());
    let schema = output_schema(|generator| Some(generator.subschema_for::<Outside>())).unwrap();
    expect![[r#"{"anyOf":[{"type":"object","properties":{"A":{"type":"integer","minimum":0}},"required":["A"]},{"type":"object","properties":{"B":{"type":"integer","minimum":0}},"required":["B"]}]}"#]].assert_eq(&schema.to_string());
    let schema = output_schema(|generator| {
        let both = generator.subschema_for::<Closed>();
        Some(schemars::json_schema!({
            "not": {"type": "object", "additionalProperties": false},
            "oneOf": [both, {"type": "object", "properties": {}, "unevaluatedProperties": false}],
        }))
    });
    expect![[r#"{"not":{"type":"object","additionalProperties":false},"anyOf":[{"type":"object","properties":{"any":{}},"required":["any"]},{"type":"object","properties":{},"unevaluatedProperties":false}]}"#]].assert_eq(&schema.unwrap().to_string());
}

/// A type that contains the one inside it twice.
macro_rules! levels {
    ($($name:ident of $inner:ident),*) => { $(
        /// A level.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct $name {
            left: Option<$inner>,
            /// The other one
            right: Option<$inner>,
            #[serde(default)]
            all: Vec<$inner>,
        }
    )* };
}

levels!(
    L1 of Documented, L2 of L1, L3 of L2, L4 of L3, L5 of L4, L6 of L5, L7 of L6, L8 of L7, L9 of L8, L10 of L9,
    L11 of L10, L12 of L11, L13 of L12, L14 of L13, L15 of L14, L16 of L15, L17 of L16, L18 of L17, L19 of L18, L20 of L19
);

#[test]
fn references_are_written_out_unless_the_schema_becomes_long() {
    let short = schema_of(of::<L3>(""));
    assert!(!short.contains("$ref"), "{short}");
    for (property, levels) in [
        (of::<L5>(""), 4),
        (of::<Option<L10>>("The top"), 9),
        (of::<L20>(""), 19),
    ] {
        let text = schema_of(property);
        assert!(text.len() < levels * 250 + 500, "{}: {text}", text.len());
        let schema: Value = serde_json::from_str(&text).unwrap();
        // The root stands in place, and only what is referred to is a definition.
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["$defs"].as_object().unwrap().len(), levels + 1);
        let inner = &schema["$defs"][format!("L{levels}")];
        assert_eq!(schema["properties"]["left"], inner_reference(levels));
        assert_eq!(inner["additionalProperties"], false);
    }
    let schema: Value = serde_json::from_str(&schema_of(of::<Option<L10>>("The top"))).unwrap();
    assert_eq!(schema["description"], "The top");
    let schema = output_schema(|generator| Some(generator.subschema_for::<L20>())).unwrap();
    assert_eq!(schema["type"], "object");
    assert!(schema.to_string().len() < 10_000, "{schema}");
}

fn inner_reference(level: usize) -> Value {
    serde_json::json!({"$ref": format!("#/$defs/L{level}")})
}

/// A ring of types, each of which contains all others.
macro_rules! ring {
    ($names:tt: $($name:ident)*) => { $( ring!(@one $name $names); )* };
    (@one $name:ident ($($field:ident $other:ident)*)) => {
        #[derive(Serialize, Deserialize, JsonSchema)]
        struct $name { $($field: Vec<$other>),* }
    };
}

ring!((a R1 b R2 c R3 d R4 e R5 f R6 g R7 h R8 i R9 j R10): R1 R2 R3 R4 R5 R6 R7 R8 R9 R10);

#[test]
fn types_that_contain_each_other_keep_their_references() {
    let text = schema_of(of::<R1>(""));
    assert!(text.len() < 12_000, "{}", text.len());
}

#[test]
fn enums_and_booleans_offer_their_values() {
    let values =
        |property: Property<'_>| candidates(&serde_json::from_str(&schema_of(property)).unwrap());
    assert_eq!(values(of::<Option<Documented>>("")), ["c", "rust", "go"]);
    assert_eq!(values(of::<Option<bool>>("")), ["true", "false"]);
    assert!(values(of::<String>("")).is_empty());
    let choice = serde_json::json!({"anyOf": [{"oneOf": [{"const": "a"}, {"enum": ["b", 1, null]}]}, {"type": "boolean"}]});
    assert_eq!(candidates(&choice), ["a", "b", "1", "true", "false"]);
}

#[test]
fn formats_that_model_apis_do_not_list_are_described() {
    check(
        of::<std::net::IpAddr>("Peer"),
        &expect![[r#"{"type":"string","description":"Peer (IPv4 or IPv6 address)"}"#]],
    );
    check(
        of::<std::net::Ipv4Addr>("Peer"),
        &expect![[r#"{"type":"string","format":"ipv4","description":"Peer"}"#]],
    );
    let uri = &Constraints {
        format: Some("uri"),
        ..Constraints::NONE
    };
    check(
        Property {
            constraints: uri,
            ..of::<String>("Where")
        },
        &expect![[
            r#"{"type":"string","description":"Where (absolute URI, such as `https://example.com/a`)"}"#
        ]],
    );
    check(
        of::<std::collections::BTreeSet<String>>("Tags"),
        &expect![[
            r#"{"type":"array","items":{"type":"string"},"description":"Tags (without duplicates)"}"#
        ]],
    );
    let schema = output_schema(|generator| {
        Some(generator.subschema_for::<std::collections::BTreeSet<String>>())
    });
    assert_eq!(schema.unwrap()["uniqueItems"], true);
}

#[test]
fn generated_schemas_break_few_rules() {
    fn found(property: Property<'_>) -> Vec<String> {
        let schema: Value = serde_json::from_str(&schema_of(property)).unwrap();
        let root = serde_json::json!({"type": "object", "properties": {"a": schema}, "additionalProperties": false});
        breaches(None, &root, Severity::ALL)
            .into_iter()
            .map(|breach| breach.text)
            .collect()
    }
    assert_eq!(found(of::<Closed>("")), ["/a/any has no type"]);
    assert_eq!(
        found(of::<std::time::Duration>("")).last().unwrap(),
        "/a is a time in seconds and nanoseconds"
    );
    assert_eq!(
        found(of::<std::time::SystemTime>("")).last().unwrap(),
        "/a is a time in seconds and nanoseconds"
    );
    assert_eq!(found(of::<Vec<u8>>("")), ["/a is a list of bytes"]);
    assert_eq!(found(of::<Vec<u16>>("")), [""; 0]);
}
