//! Readable summaries of schemas.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Returns a short summary of the values that a schema accepts, such as `[{city: string, days?: integer}]`.
#[must_use]
pub fn kind(schema: &Value) -> String {
    kind_within(schema, MAX_SUMMARY_DEPTH)
}

/// Maximum nesting depth of objects whose properties are listed.
const MAX_SUMMARY_DEPTH: usize = 3;

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
            "array" => array_kind(schema, depth),
            "object" => object_kind(schema, depth),
            "boolean" => "true|false".to_owned(),
            "string" => match schema["format"].as_str() {
                Some(format) => format.to_owned(),
                None => "string".to_owned(),
            },
            name => number_kind(name, schema),
        },
        Value::Array(names) => any_of(names, &word),
        _ => match schema["$ref"].as_str() {
            Some(reference) => reference.rsplit('/').next().unwrap_or(reference).to_owned(),
            None => "anything".to_owned(),
        },
    }
}

/// Returns a summary such as `integer 1 to 9` or `number above 0`.
fn number_kind(name: &str, schema: &Value) -> String {
    let (minimum, maximum) = (minimum_to_show(schema), maximum_to_show(schema));
    let above = schema["exclusiveMinimum"].as_number();
    let below = schema["exclusiveMaximum"].as_number();
    if let (Some(minimum), Some(maximum), None, None) = (minimum, maximum, above, below) {
        return format!("{name} {minimum} to {maximum}");
    }
    let limits = [
        ("from", minimum),
        ("above", above),
        ("to", maximum),
        ("below", below),
    ];
    let mut text = name.to_owned();
    for (word, limit) in limits {
        if let Some(limit) = limit {
            let _ = write!(text, " {word} {limit}");
        }
    }
    text
}

/// Returns the minimum unless it merely reflects the range of an integer type.
fn minimum_to_show(schema: &Value) -> Option<&Number> {
    let is_width = |minimum: i64| minimum == i64::from(i32::MIN) || minimum == i64::MIN;
    let minimum = schema["minimum"].as_number();
    minimum.filter(|minimum| !minimum.as_i64().is_some_and(is_width))
}

/// Returns the maximum unless it merely reflects the range of an integer type.
fn maximum_to_show(schema: &Value) -> Option<&Number> {
    const WIDTHS: [u64; 4] = [
        i32::MAX.unsigned_abs() as u64,
        u32::MAX as u64,
        i64::MAX.unsigned_abs(),
        u64::MAX,
    ];
    let maximum = schema["maximum"].as_number();
    maximum.filter(|maximum| {
        !maximum
            .as_u64()
            .is_some_and(|maximum| WIDTHS.contains(&maximum))
    })
}

/// Returns a summary such as `[integer from 0]`, or `[string, integer]` for a tuple.
fn array_kind(schema: &Value, depth: usize) -> String {
    if let Some(parts) = schema["prefixItems"].as_array() {
        let parts: Vec<_> = parts.iter().map(|part| kind_within(part, depth)).collect();
        return format!("[{}]", parts.join(", "));
    }
    match &schema["items"] {
        items @ Value::Object(_) => format!("[{}]", kind_within(items, depth)),
        _ => "[anything]".to_owned(),
    }
}

/// Returns a summary such as `{city: string, days?: integer}`, or `{*: integer}` for a map.
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

/// Returns the properties of an object, each written as `name: kind`, or as `name?: kind` if the property is optional.
pub fn members(schema: &Value, kind: impl Fn(&Value) -> String) -> Vec<String> {
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

    #[test]
    fn the_accepted_values_of_a_schema_are_summarized() {
        for (schema, expected) in [
            (json!({"type": "integer", "minimum": 0}), "integer from 0"),
            (
                json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
                "integer from 0",
            ),
            (
                json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}),
                "integer",
            ),
            (
                json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}),
                "integer",
            ),
            (
                json!({"type": "integer", "minimum": 0, "maximum": 255}),
                "integer 0 to 255",
            ),
            (json!({"type": "number", "maximum": 1.5}), "number to 1.5"),
            (
                json!({"type": "number", "exclusiveMinimum": 0.0, "maximum": 200.0}),
                "number above 0.0 to 200.0",
            ),
            (
                json!({"type": "number", "minimum": 0.0, "exclusiveMaximum": 1.0}),
                "number from 0.0 below 1.0",
            ),
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
            (json!({"type": "string", "format": "date"}), "date"),
        ] {
            assert_eq!(kind(&schema), expected);
        }
        let deep = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        assert_eq!(
            kind(&deep(deep(deep(deep(json!({"type": "object"})))))),
            "{a?: {a?: {a?: {…}}}}"
        );
    }
}
