//! Applies the rules to a tool's name and to every schema inside its input schema.

use serde_json::{Map, Value};

use super::{MODEL_RULES, ModelRequirement, ModelRule, Severity};
use crate::constraint::RangeKeyword;
use crate::explain::push_token;
use crate::format;

/// Maximum nesting depth to examine. Schemas used in practice are not nested this deeply.
const MAX_DEPTH: usize = 64;

/// Keywords that do not assert anything and may be dropped by hosts, and keywords covered by a separate rule.
const KEYWORDS_WITHOUT_RULE: [&str; 10] = [
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

/// A breach of a rule by a tool.
#[derive(Debug)]
pub struct ModelRuleBreach {
    /// The rule.
    pub rule: &'static ModelRule,
    /// The mistake and its location, as part of a sentence for the author.
    pub text: String,
}

/// Examines a tool's name and input schema and returns all breaches of rules that have one of these severities. If
/// `name` is `None`, only the schema is examined.
#[must_use]
pub fn breaches(
    name: Option<&str>,
    schema: &Value,
    severities: &[Severity],
) -> Vec<ModelRuleBreach> {
    let mut subschemas = Vec::new();
    let mut booleans = Vec::new();
    collect_subschemas(schema, "", 0, MAX_DEPTH, (&mut subschemas, &mut booleans));
    let mut found: Vec<ModelRuleBreach> = Vec::new();
    let rules = MODEL_RULES
        .iter()
        .filter(|rule| severities.contains(&rule.severity));
    for rule in rules {
        // The rules of several APIs can lead to the same finding, which is reported only for the first rule, the
        // strictest one.
        let mut push = |text: String| {
            if found.iter().all(|breach| breach.text != text) {
                found.push(ModelRuleBreach { rule, text });
            }
        };
        match rule.demand {
            ModelRequirement::ToolName(longest, others) => {
                if name.is_some_and(|name| !is_name(name, longest, others)) {
                    push("some clients reject this name".to_owned());
                }
            }
            ModelRequirement::Root(refused) => check_root(schema, refused, &mut push),
            ModelRequirement::DeclaredProperties => {
                if schema.get("properties").is_none() {
                    push("the schema of the arguments has no `properties`".to_owned());
                }
            }
            ModelRequirement::NoBoolean => {
                for pointer in &booleans {
                    push(format!("{pointer} is a boolean instead of a schema"));
                }
            }
            ModelRequirement::Values(most) => check_values(&subschemas, most, &mut push),
            ModelRequirement::Size(levels, properties) => {
                check_size(&subschemas, levels, properties, &mut push);
            }
            demand => {
                for subschema in &subschemas {
                    subschema.check_demand(demand, &mut push);
                }
            }
        }
    }
    found
}

/// A schema inside the input schema.
struct Subschema<'s> {
    /// The pointer's property names and keywords; empty for the root.
    pointer: String,
    members: &'s Map<String, Value>,
    /// The number of objects that contain this schema.
    depth: usize,
}

/// Collects a schema and those inside it, and apart from them the pointers of boolean schemas.
fn collect_subschemas<'s>(
    schema: &'s Value,
    pointer: &str,
    depth: usize,
    left: usize,
    (subschemas, booleans): (&mut Vec<Subschema<'s>>, &mut Vec<String>),
) {
    if schema.is_boolean() && !pointer.ends_with("/additionalProperties") {
        booleans.push(pointer.to_owned());
    }
    let (Value::Object(members), Some(left)) = (schema, left.checked_sub(1)) else {
        return;
    };
    subschemas.push(Subschema {
        pointer: pointer.to_owned(),
        members,
        depth,
    });
    let inner = depth.saturating_add(usize::from(is_of_type(members, "object")));
    for keyword in ["properties", "$defs", "definitions", "patternProperties"] {
        let all = members.get(keyword).and_then(Value::as_object);
        for (name, schema) in all.into_iter().flatten() {
            let mut pointer = pointer.to_owned();
            push_token(&mut pointer, name);
            collect_subschemas(schema, &pointer, inner, left, (subschemas, booleans));
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
            let pointer = format!("{pointer}/{keyword}");
            collect_subschemas(schema, &pointer, inner, left, (subschemas, booleans));
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        let all = members.get(keyword).and_then(Value::as_array);
        for schema in all.into_iter().flatten() {
            collect_subschemas(schema, pointer, inner, left, (subschemas, booleans));
        }
    }
}

impl Subschema<'_> {
    /// Checks a requirement that applies to a single schema.
    fn check_demand(&self, demand: ModelRequirement, push: &mut impl FnMut(String)) {
        let (pointer, members) = (&self.pointer, self.members);
        let subject = if pointer.is_empty() {
            "the schema"
        } else {
            pointer
        };
        let kind = members.get("type");
        let has = |keyword: &str| members.contains_key(keyword);
        match demand {
            ModelRequirement::RequiredDeclared => {
                for name in self.undeclared_names() {
                    push(format!(
                        "{subject} requires `{name}`, which it does not declare"
                    ));
                }
            }
            ModelRequirement::NoReference if has("$ref") => {
                push(format!("{subject} refers to another schema with `$ref`"));
            }
            ModelRequirement::OneType => {
                if let Some(types @ Value::Array(_)) = kind {
                    push(format!("{subject} has several types: {types}"));
                }
            }
            ModelRequirement::Typed => {
                let says = ["type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"];
                if !pointer.is_empty() && !says.into_iter().any(has) {
                    push(format!("{subject} has no type"));
                }
            }
            ModelRequirement::Items if is_of_type(members, "array") && !has("items") => {
                push(format!("{subject} is an array without `items`"));
            }
            ModelRequirement::TextEnum if !self.values().iter().all(Value::is_string) => {
                push(format!("{subject} has non-string `enum` values"));
            }
            ModelRequirement::NoEmptyValue if self.values().iter().any(|value| value == "") => {
                push(format!(
                    "{subject} has an empty string among its `enum` values"
                ));
            }
            ModelRequirement::PropertyName(longest, others) => {
                self.check_property_names(push, &|name| is_name(name, longest, others));
            }
            ModelRequirement::NameStart => self.check_property_names(push, &|name| {
                name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            }),
            ModelRequirement::Closed if is_of_type(members, "object") => {
                match members.get("additionalProperties") {
                    Some(Value::Bool(false)) => {}
                    Some(Value::Object(_)) => push(format!("{subject} is a map")),
                    _ => push(format!("{subject} accepts unknown properties")),
                }
            }
            ModelRequirement::Keywords(known) => self.check_keywords(subject, known, push),
            ModelRequirement::NumberKeywords(known) => {
                let limits = RangeKeyword::ALL.map(RangeKeyword::name);
                for keyword in limits.into_iter().chain(["multipleOf"]) {
                    if has(keyword) && !known.contains(&keyword) {
                        push(format!("{subject} has `{keyword}`"));
                    }
                }
            }
            ModelRequirement::ListedFormat => {
                if let Some(name) = members.get("format").and_then(Value::as_str)
                    && !format::is_listed(name)
                {
                    push(format!("{subject} has the format `{name}`"));
                }
            }
            ModelRequirement::ReadableTime => {
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
                    push(format!("{subject} is a time in seconds and nanoseconds"));
                }
            }
            ModelRequirement::ReadableBytes
                if is_of_type(members, "array") && members.get("items").is_some_and(is_byte) =>
            {
                push(format!("{subject} is a list of bytes"));
            }
            _ => {}
        }
    }

    /// Reports keywords that are not `known`.
    fn check_keywords(&self, subject: &str, known: &[&str], push: &mut impl FnMut(String)) {
        let unknown = self.members.keys().map(String::as_str).filter(|keyword| {
            !known.contains(keyword)
                && !KEYWORDS_WITHOUT_RULE.contains(keyword)
                && !keyword.starts_with("x-")
        });
        for keyword in unknown {
            push(match keyword {
                "oneOf" => format!("{subject} has alternatives (`oneOf`)"),
                "prefixItems" => format!("{subject} is a tuple (`prefixItems`)"),
                _ => format!("{subject} has `{keyword}`"),
            });
        }
    }

    /// Returns the required names that are not those of properties.
    fn undeclared_names(&self) -> impl Iterator<Item = &str> {
        let properties = self.members.get("properties");
        let names = self.members.get("required").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.filter(move |name| properties.is_none_or(|all| all.get(*name).is_none()))
    }

    /// Returns the values of `enum`.
    fn values(&self) -> &[Value] {
        let values = self.members.get("enum").and_then(Value::as_array);
        values.map_or(&[], Vec::as_slice)
    }

    /// Reports properties whose names are not `allowed`.
    fn check_property_names(&self, push: &mut impl FnMut(String), allowed: &dyn Fn(&str) -> bool) {
        let properties = self.members.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if !allowed(name) {
                push(format!(
                    "some clients reject the name of {}/{name}",
                    self.pointer
                ));
            }
        }
    }
}

fn check_root(schema: &Value, refused: &[&str], push: &mut impl FnMut(String)) {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        push("the schema of the arguments is not of type `object`".to_owned());
    }
    if let Some(keyword) = refused.iter().find(|keyword| schema.get(keyword).is_some()) {
        push(format!(
            "the schema of the arguments has `{keyword}` at its root"
        ));
    }
}

fn check_size(
    subschemas: &[Subschema<'_>],
    levels: usize,
    properties: usize,
    push: &mut impl FnMut(String),
) {
    let deepest = subschemas
        .iter()
        .map(|subschema| subschema.depth)
        .max()
        .unwrap_or(0);
    if deepest > levels {
        push(format!("objects are nested {deepest} levels deep"));
    }
    let count: usize = subschemas
        .iter()
        .filter_map(|subschema| subschema.members.get("properties")?.as_object())
        .map(Map::len)
        .sum();
    if count > properties {
        push(format!("the schema has {count} properties"));
    }
}

fn check_values(subschemas: &[Subschema<'_>], most: usize, push: &mut impl FnMut(String)) {
    let count: usize = subschemas
        .iter()
        .filter_map(|subschema| subschema.members.get("enum")?.as_array())
        .map(Vec::len)
        .sum();
    if count > most {
        push(format!("the schema has {count} `enum` values"));
    }
}

fn is_of_type(members: &Map<String, Value>, kind: &str) -> bool {
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
