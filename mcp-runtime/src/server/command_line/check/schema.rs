//! Lint rules for argument schemas that model APIs reject.

use serde_json::Value;

use crate::server::command_line::check::lint::Findings;

// Sources of the rules, and the errors that the APIs return. The Messages API returns "input_schema does not support
// oneOf, allOf, or anyOf at the top level".
const ROOT: &str = "Anthropic and OpenAI: the root of a schema is a plain object";
// Claude Platform, "Self-hosted sandboxes": custom tools. Gemini CLI treats references as missing types.
const REFERENCES: &str = "Anthropic's managed agents; Gemini";
// Claude Platform, "Self-hosted sandboxes", and the Messages API: `tools.*.input_schema.properties`.
const PROPERTIES: &str = "Anthropic: property names match ^[a-zA-Z0-9_.-]{1,64}$";
// Gemini API, `Schema`: `type` is a single value, "Proto field is not repeating, cannot start list".
const TYPES: &str = "Gemini: `type` is one string";
// Gemini API, `Schema`: an array has `items`, "missing field".
const ITEMS: &str = "Gemini and OpenAI: arrays declare `items`";
// Gemini API, `Schema.enum`: values are strings.
const ENUMS: &str = "Gemini: `enum` values are strings";
// Gemini API, `Schema.format`: "only 'enum' and 'date-time' are supported for STRING type". OpenAI, "Structured Outputs".
const FORMATS: &str = "Gemini accepts only `date-time`; others accept the formats of JSON Schema";
// Gemini API, `Schema`: supported keywords. OpenAI, "Structured Outputs": supported schemas.
const FORMS: &str = "Gemini and OpenAI's strict mode do not support this keyword; all models support a struct with optional fields";
// OpenAI, "Structured Outputs": `additionalProperties: false` must always be set in objects.
const MAPS: &str =
    "OpenAI's strict mode rejects maps; all models support a list of objects with a key";
/// Formats defined by JSON Schema 2020-12, "Defined Formats", and Gemini's number formats.
const KNOWN_FORMATS: [&str; 21] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "int32",
    "int64",
];
/// Maximum nesting depth to check. Schemas used in practice are not this deep.
const DEEPEST: usize = 32;
const LONGEST_NAME: usize = 64;

pub(super) fn lint(schema: &Value, found: &mut Findings) {
    let is_object = schema["type"] == "object";
    let composed = ["oneOf", "anyOf", "allOf", "not", "enum", "if"];
    if !is_object {
        found.push_refused("the schema of the arguments is not of type `object`", ROOT);
    }
    if let Some(keyword) = composed
        .iter()
        .find(|keyword| schema.get(keyword).is_some())
    {
        found.push_refused(
            format!("the schema of the arguments has `{keyword}` at its root"),
            ROOT,
        );
    }
    walk(schema, "", DEEPEST, found);
}

fn walk(schema: &Value, at: &str, depth: usize, found: &mut Findings) {
    let (Value::Object(members), Some(depth)) = (schema, depth.checked_sub(1)) else {
        return;
    };
    let place = if at.is_empty() { "the schema" } else { at };
    if members.contains_key("$ref") {
        found.push_refused(
            format!("{place} refers to another schema with `$ref`"),
            REFERENCES,
        );
    }
    if let Some(types @ Value::Array(_)) = members.get("type") {
        found.push_refused(format!("{place} has several types: {types}"), TYPES);
    }
    if members.get("type").is_some_and(|name| name == "array") && !members.contains_key("items") {
        found.push_refused(format!("{place} is an array without `items`"), ITEMS);
    }
    if members.contains_key("oneOf") {
        found.push_disliked(format!("{place} has alternatives (`oneOf`)"), FORMS);
    }
    if members.contains_key("prefixItems") {
        found.push_disliked(format!("{place} is a tuple (`prefixItems`)"), FORMS);
    }
    if members
        .get("additionalProperties")
        .is_some_and(Value::is_object)
    {
        found.push_disliked(format!("{place} is a map"), MAPS);
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array)
        && !values.iter().all(Value::is_string)
    {
        found.push_refused(format!("{place} has non-string `enum` values"), ENUMS);
    }
    if let Some(format) = members.get("format").and_then(Value::as_str)
        && !KNOWN_FORMATS.contains(&format)
    {
        found.push_refused(
            format!("{place} has the unknown format `{format}`"),
            FORMATS,
        );
    }
    for keyword in ["properties", "$defs", "definitions", "patternProperties"] {
        for (name, inner) in members
            .get(keyword)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain);
            if keyword == "properties" && !is_name {
                found.push_refused(
                    format!("some clients reject the name of {at}/{name}"),
                    PROPERTIES,
                );
            }
            walk(inner, &format!("{at}/{name}"), depth, found);
        }
    }
    for keyword in [
        "items",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
    ] {
        if let Some(inner) = members.get(keyword) {
            walk(inner, &format!("{at}/{keyword}"), depth, found);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for inner in members
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            walk(inner, at, depth, found);
        }
    }
}
