//! Tests the schemas of enums.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum External {
    /// A circle.
    Circle {
        radius: f64,
    },
    Label(String),
    /// Nothing.
    Point,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value", rename_all = "lowercase")]
enum Adjacent {
    Circle(f64),
    Label(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
}

#[test]
fn enums_with_data_are_choices_that_model_apis_support() {
    let adjacent = expect![[
        r#"{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","enum":["circle"]},"value":{"type":"number"}},"required":["kind","value"]},{"type":"object","properties":{"kind":{"type":"string","enum":["label"]},"value":{"type":"string"}},"required":["kind","value"]}]}"#
    ]];
    let external = expect![[
        r#"{"anyOf":[{"type":"object","properties":{"circle":{"type":"object","properties":{"radius":{"type":"number"}},"required":["radius"]}},"required":["circle"],"additionalProperties":false,"description":"A circle."},{"type":"object","properties":{"label":{"type":"string"}},"required":["label"],"additionalProperties":false},{"type":"string","enum":["point"],"description":"Nothing."}]}"#
    ]];
    let untagged =
        expect![[r#"{"anyOf":[{"type":"number"},{"type":"string"}],"description":"Either"}"#]];
    check(of::<Adjacent>(""), &adjacent);
    check(of::<External>(""), &external);
    check(of::<Untagged>("Either"), &untagged);
    for schema in [
        schema_of(of::<Option<External>>("")),
        schema_of(of::<Option<Tagged>>("")),
        schema_of(of::<Adjacent>("")),
        schema_of(of::<Untagged>("")),
    ] {
        for word in ["oneOf", "const"] {
            assert!(!schema.contains(word), "{schema}");
        }
    }
}

/// A choice that a value can match twice.
struct Overlapping;

impl JsonSchema for Overlapping {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Overlapping".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 1}]})
    }
}

#[test]
fn a_one_of_with_overlapping_alternatives_is_unchanged() {
    check(
        of::<Overlapping>(""),
        &expect![[r#"{"oneOf":[{"type":"integer"},{"type":"number","minimum":1}]}"#]],
    );
}
