//! Applies the rules to a tool's name and to every schema inside its input schema.

use serde_json::{Map, Value};

use super::{Demand, MODEL_RULES, ModelRule};
use crate::explain::push_token;
use crate::format;

/// Maximum nesting depth to examine. Schemas used in practice are not this deep.
const DEEPEST: usize = 64;

/// Keywords that assert nothing and that hosts may drop, or that have a rule of their own.
const PASSED_OVER: [&str; 10] = [
    "$schema",
    "$id",
    "$comment",
    "$ref",
    "$defs",
    "definitions",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// A place at which a tool breaks a rule.
#[derive(Debug)]
pub struct Breach {
    /// The rule.
    pub rule: &'static ModelRule,
    /// What is wrong and where, as part of a sentence for the author.
    pub text: String,
}

/// Returns every breach of the rules by a tool with this name and input schema. If `name` is `None`, only the schema is
/// examined.
#[must_use]
pub fn breaches(name: Option<&str>, schema: &Value) -> Vec<Breach> {
    let mut places = Vec::new();
    collect(schema, "", 0, DEEPEST, &mut places);
    let mut found: Vec<Breach> = Vec::new();
    for rule in MODEL_RULES {
        // Rules of several APIs can forbid the same; the first one is the strictest.
        let mut push = |text: String| {
            if found.iter().all(|breach| breach.text != text) {
                found.push(Breach { rule, text });
            }
        };
        match rule.demand {
            Demand::ToolName(longest, others) => {
                if name.is_some_and(|name| !is_name(name, longest, others)) {
                    push("some clients reject this name".to_owned());
                }
            }
            Demand::Root(refused) => root(schema, refused, &mut push),
            Demand::Size(levels, properties) => size(&places, levels, properties, &mut push),
            demand => {
                for place in &places {
                    place.examine(demand, &mut push);
                }
            }
        }
    }
    found
}

/// A schema inside the input schema.
struct Place<'s> {
    /// A pointer made of property names and keywords; empty for the root.
    at: String,
    members: &'s Map<String, Value>,
    /// The number of objects that contain it.
    depth: usize,
}

fn collect<'s>(
    schema: &'s Value,
    at: &str,
    depth: usize,
    left: usize,
    places: &mut Vec<Place<'s>>,
) {
    let (Value::Object(members), Some(left)) = (schema, left.checked_sub(1)) else {
        return;
    };
    places.push(Place {
        at: at.to_owned(),
        members,
        depth,
    });
    let inner = depth.saturating_add(usize::from(is(members, "object")));
    for keyword in ["properties", "$defs", "definitions", "patternProperties"] {
        let all = members.get(keyword).and_then(Value::as_object);
        for (name, schema) in all.into_iter().flatten() {
            let mut at = at.to_owned();
            push_token(&mut at, name);
            collect(schema, &at, inner, left, places);
        }
    }
    for keyword in [
        "items",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
    ] {
        if let Some(schema) = members.get(keyword) {
            collect(schema, &format!("{at}/{keyword}"), inner, left, places);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        let all = members.get(keyword).and_then(Value::as_array);
        for schema in all.into_iter().flatten() {
            collect(schema, at, inner, left, places);
        }
    }
}

impl Place<'_> {
    /// Applies a demand that concerns a single schema.
    fn examine(&self, demand: Demand, push: &mut impl FnMut(String)) {
        let (at, members) = (&self.at, self.members);
        let place = if at.is_empty() { "the schema" } else { at };
        let kind = members.get("type");
        let has = |keyword: &str| members.contains_key(keyword);
        match demand {
            Demand::NoReference if has("$ref") => {
                push(format!("{place} refers to another schema with `$ref`"));
            }
            Demand::OneType => {
                if let Some(types @ Value::Array(_)) = kind {
                    push(format!("{place} has several types: {types}"));
                }
            }
            Demand::Typed => {
                let says = ["type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"];
                if !at.is_empty() && !says.into_iter().any(has) {
                    push(format!("{place} has no type"));
                }
            }
            Demand::Items if is(members, "array") && !has("items") => {
                push(format!("{place} is an array without `items`"));
            }
            Demand::TextEnum => {
                let values = members.get("enum").and_then(Value::as_array);
                if values.is_some_and(|values| !values.iter().all(Value::is_string)) {
                    push(format!("{place} has non-string `enum` values"));
                }
            }
            Demand::PropertyName(longest, others) => {
                self.names(push, &|name| is_name(name, longest, others));
            }
            Demand::NameStart => self.names(push, &|name| {
                !name.starts_with(|first: char| first.is_ascii_digit())
            }),
            Demand::Closed if is(members, "object") => match members.get("additionalProperties") {
                Some(Value::Bool(false)) => {}
                Some(Value::Object(_)) => push(format!("{place} is a map")),
                _ => push(format!("{place} accepts unknown properties")),
            },
            Demand::Keywords(known) => {
                let unknown = members.keys().map(String::as_str).filter(|keyword| {
                    !known.contains(keyword)
                        && !PASSED_OVER.contains(keyword)
                        && !keyword.starts_with("x-")
                });
                for keyword in unknown {
                    push(match keyword {
                        "oneOf" => format!("{place} has alternatives (`oneOf`)"),
                        "prefixItems" => format!("{place} is a tuple (`prefixItems`)"),
                        _ => format!("{place} has `{keyword}`"),
                    });
                }
            }
            Demand::ListedFormat => {
                if let Some(name) = members.get("format").and_then(Value::as_str)
                    && !format::is_listed(name)
                {
                    push(format!("{place} has the format `{name}`"));
                }
            }
            Demand::ReadableTime => {
                let properties = members.get("properties").and_then(Value::as_object);
                let names: Vec<&str> = properties
                    .into_iter()
                    .flat_map(Map::keys)
                    .map(String::as_str)
                    .collect();
                if matches!(
                    names.as_slice(),
                    ["secs", "nanos"] | ["secs_since_epoch", "nanos_since_epoch"]
                ) {
                    push(format!("{place} is a time in seconds and nanoseconds"));
                }
            }
            Demand::ReadableBytes
                if is(members, "array") && members.get("items").is_some_and(is_byte) =>
            {
                push(format!("{place} is a list of bytes"));
            }
            _ => {}
        }
    }

    /// Reports the properties whose names are not `allowed`.
    fn names(&self, push: &mut impl FnMut(String), allowed: &dyn Fn(&str) -> bool) {
        let properties = self.members.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if !allowed(name) {
                push(format!(
                    "some clients reject the name of {}/{name}",
                    self.at
                ));
            }
        }
    }
}

fn root(schema: &Value, refused: &[&str], push: &mut impl FnMut(String)) {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        push("the schema of the arguments is not of type `object`".to_owned());
    }
    if let Some(keyword) = refused.iter().find(|keyword| schema.get(keyword).is_some()) {
        push(format!(
            "the schema of the arguments has `{keyword}` at its root"
        ));
    }
}

fn size(places: &[Place<'_>], levels: usize, properties: usize, push: &mut impl FnMut(String)) {
    let deepest = places.iter().map(|place| place.depth).max().unwrap_or(0);
    if deepest > levels {
        push(format!("objects are nested {deepest} levels deep"));
    }
    let count: usize = places
        .iter()
        .filter_map(|place| place.members.get("properties")?.as_object())
        .map(Map::len)
        .sum();
    if count > properties {
        push(format!("the schema has {count} properties"));
    }
}

fn is(members: &Map<String, Value>, kind: &str) -> bool {
    members.get("type").is_some_and(|name| name == kind)
}

fn is_byte(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "integer")
        && schema.get("minimum").and_then(Value::as_i64) == Some(0)
        && schema.get("maximum").and_then(Value::as_i64) == Some(255)
}

fn is_name(name: &str, longest: usize, others: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    (1..=longest).contains(&name.len()) && name.chars().all(is_allowed)
}
