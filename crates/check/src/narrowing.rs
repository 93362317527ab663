//! Checks whether every value that matches one JSON Schema also matches another and, if not, explains why.
//!
//! A tool must not accept fewer values than before, so values that match the old schema must also match the new one.
//! Nor may it return more values than before, so values that match the new schema must also match the old one. Both
//! cases use the same check with the schemas swapped.
//!
//! A difference in a keyword that the check does not understand is treated as a narrowing, because false alarms are
//! better than missed changes. Descriptions and other annotations are ignored.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// The direction in which values are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueDirection {
    /// From clients to the server. Values that match the old schema must also match the new schema.
    Input,
    /// From the server to clients. Values that match the new schema must also match the old schema.
    Output,
}

/// Maximum depth of the comparison. A limit is necessary because schemas can refer to themselves.
const MAX_DEPTH: usize = 24;

/// Keywords that do not affect which values match, and those that are compared separately.
const UNDERSTOOD: [&str; 31] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "$ref",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "x-mcp-header",
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// Each bound's keyword, paired with `true` if a smaller value is looser.
const BOUNDS: [(&str, bool); 10] = [
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("minLength", true),
    ("minItems", true),
    ("minProperties", true),
    ("maximum", false),
    ("exclusiveMaximum", false),
    ("maxLength", false),
    ("maxItems", false),
    ("maxProperties", false),
];

/// Returns the reasons why some values that match `from` do not match `to`. The list is empty if all of them match.
pub(crate) fn narrowings(from: &Value, to: &Value, direction: ValueDirection) -> Vec<String> {
    let mut search = NarrowingSearch {
        roots: (from, to),
        direction,
        found: Vec::new(),
    };
    search.compare_schemas(from, to, "", MAX_DEPTH);
    search.found
}

struct NarrowingSearch<'s> {
    roots: (&'s Value, &'s Value),
    direction: ValueDirection,
    found: Vec<String>,
}

impl<'s> NarrowingSearch<'s> {
    fn compare_schemas(&mut self, from: &'s Value, to: &'s Value, at: &str, depth: usize) {
        let (from, to) = (
            resolve_reference(from, self.roots.0),
            resolve_reference(to, self.roots.1),
        );
        if from == to && self.roots.0.get("$defs") == self.roots.1.get("$defs") {
            return;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let (values, allowed) = (split_branches(from), split_branches(to));
        if let ([value], [fits]) = (values.as_slice(), allowed.as_slice()) {
            return self.compare_branches(value, fits, at, depth);
        }
        for value in values {
            let fits = |allowed| {
                let mut search = NarrowingSearch {
                    roots: self.roots,
                    direction: self.direction,
                    found: Vec::new(),
                };
                search.compare_branches(&value, allowed, at, depth);
                search.found.is_empty()
            };
            if !allowed.iter().any(fits) {
                let value = value.describe();
                self.push_narrowing(
                    at,
                    match self.direction {
                        ValueDirection::Input => format!("{value} is no longer accepted"),
                        ValueDirection::Output => format!("may now be {value}"),
                    },
                );
            }
        }
    }

    fn compare_branches(
        &mut self,
        from: &SchemaBranch<'s>,
        to: &SchemaBranch<'s>,
        at: &str,
        depth: usize,
    ) {
        let (from, to) = match (from, to) {
            (SchemaBranch::Value(from), SchemaBranch::Value(to)) if from == to => return,
            (SchemaBranch::Value(from), SchemaBranch::Schema(to)) => {
                let types = allowed_types(to);
                if !types.is_empty()
                    && !types.iter().any(|name| types_of_value(from).contains(name))
                {
                    self.push_keyword_change(
                        at,
                        "type",
                        Some(&Value::from(types_of_value(from)[0])),
                        to.get("type"),
                    );
                }
                return;
            }
            (_, SchemaBranch::Value(to)) => {
                let (from, to) = (from.describe(), SchemaBranch::Value(to).describe());
                let text = match self.direction {
                    ValueDirection::Input => {
                        format!("only {to} is accepted now; previously, it was {from}")
                    }
                    ValueDirection::Output => format!("may now be {from}, was {to}"),
                };
                return self.push_narrowing(at, text);
            }
            (SchemaBranch::Schema(from), SchemaBranch::Schema(to)) => (*from, *to),
        };
        if to == &Value::Bool(true) || to.as_object().is_some_and(serde_json::Map::is_empty) {
            return;
        }
        let (given, taken) = (allowed_types(from), allowed_types(to));
        let fits =
            |name: &&str| taken.contains(name) || (*name == "integer" && taken.contains("number"));
        if !taken.is_empty() && (given.is_empty() || !given.iter().all(fits)) {
            self.push_keyword_change(at, "type", from.get("type"), to.get("type"));
            return;
        }
        for (bound, smaller_is_looser) in BOUNDS {
            let (before, now) = (from.get(bound), to.get(bound));
            let is_tighter = match (before.and_then(Value::as_f64), now.and_then(Value::as_f64)) {
                (_, None) => false,
                (None, Some(now)) => {
                    !(now == 0.0 && bound.starts_with("min") && bound != "minimum")
                }
                (Some(before), Some(now)) if smaller_is_looser => now > before,
                (Some(before), Some(now)) => now < before,
            };
            if is_tighter {
                self.push_keyword_change(at, bound, before, now);
            }
        }
        self.compare_objects(from, to, at, depth);
        if let (Some(from), Some(to)) = (from.get("items"), to.get("items")) {
            self.compare_schemas(from, to, &format!("{at}/items"), depth);
        } else if let Some(items) = to.get("items") {
            self.push_keyword_change(at, "items", None, Some(items));
        }
        for (keyword, now) in to.as_object().into_iter().flatten() {
            let before = from.get(keyword);
            if !UNDERSTOOD.contains(&keyword.as_str())
                && !BOUNDS.iter().any(|(bound, _)| bound == keyword)
                && before != Some(now)
            {
                self.push_keyword_change(at, keyword, before, Some(now));
            }
        }
    }

    fn compare_objects(&mut self, from: &'s Value, to: &'s Value, at: &str, depth: usize) {
        let (given, taken) = (from.get("properties"), to.get("properties"));
        let property = |of: Option<&'s Value>, name: &str| of.and_then(|of| of.get(name));
        for name in required_names(to) {
            if required_names(from).any(|required| required == name) {
                continue;
            }
            let text = match (self.direction, property(given, name)) {
                (ValueDirection::Input, None) => format!("`{name}` was added and is required"),
                (ValueDirection::Input, Some(_)) => format!("`{name}` is now required"),
                (ValueDirection::Output, _) => format!("`{name}` may now be missing"),
            };
            self.push_narrowing(at, text);
        }
        let is_closed = to.get("additionalProperties") == Some(&Value::Bool(false));
        for (name, given) in given.and_then(Value::as_object).into_iter().flatten() {
            match property(taken, name) {
                Some(taken) => self.compare_schemas(given, taken, &format!("{at}/{name}"), depth),
                // Additional members do not break clients that read the output.
                None if is_closed && self.direction == ValueDirection::Input => {
                    self.push_narrowing(at, format!("`{name}` was removed"));
                }
                None => {}
            }
        }
        let was_open = from.get("additionalProperties") != Some(&Value::Bool(false));
        if is_closed && was_open && self.direction == ValueDirection::Input {
            self.push_narrowing(at, "unknown members are now refused".into());
        }
        if let (Some(given @ Value::Object(_)), Some(taken @ Value::Object(_))) = (
            from.get("additionalProperties"),
            to.get("additionalProperties"),
        ) {
            self.compare_schemas(given, taken, &format!("{at}/*"), depth);
        }
    }

    fn push_keyword_change(
        &mut self,
        at: &str,
        keyword: &str,
        from: Option<&Value>,
        to: Option<&Value>,
    ) {
        let (before, now) = match self.direction {
            ValueDirection::Input => (from, to),
            ValueDirection::Output => (to, from),
        };
        let text = |value: Option<&Value>| match value {
            Some(value) => format!("`{value}`"),
            None => "absent".to_owned(),
        };
        self.push_narrowing(
            at,
            format!("`{keyword}` is now {}, was {}", text(now), text(before)),
        );
    }

    fn push_narrowing(&mut self, at: &str, mut text: String) {
        if !at.is_empty() {
            text.insert_str(0, ": ");
            text.insert_str(0, at);
        }
        self.found.push(text);
    }
}

/// An alternative within a schema.
#[derive(Debug)]
enum SchemaBranch<'s> {
    Schema(&'s Value),
    /// Exactly this value.
    Value(&'s Value),
}

impl SchemaBranch<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Value(value) => format!("`{value}`"),
            Self::Schema(schema) => {
                let mut text = String::new();
                for name in allowed_types(schema) {
                    let _ = write!(text, "{}{name}", if text.is_empty() { "" } else { " or " });
                }
                if text.is_empty() {
                    "anything".into()
                } else {
                    text
                }
            }
        }
    }
}

fn split_branches(schema: &Value) -> Vec<SchemaBranch<'_>> {
    if let Some(value) = schema.get("const") {
        return vec![SchemaBranch::Value(value)];
    }
    for keyword in ["enum", "anyOf", "oneOf"] {
        let Some(all) = schema.get(keyword).and_then(Value::as_array) else {
            continue;
        };
        return match keyword {
            "enum" => all.iter().map(SchemaBranch::Value).collect(),
            // One level of alternatives within a branch is expanded; deeper levels are compared without expansion.
            _ => all
                .iter()
                .flat_map(|inner| match (inner.get("const"), inner.get("enum")) {
                    (Some(value), _) => vec![SchemaBranch::Value(value)],
                    (None, Some(Value::Array(values))) => {
                        values.iter().map(SchemaBranch::Value).collect()
                    }
                    _ => vec![SchemaBranch::Schema(inner)],
                })
                .collect(),
        };
    }
    vec![SchemaBranch::Schema(schema)]
}

/// Returns the types that a schema allows, or an empty set if the schema does not specify any.
fn allowed_types(schema: &Value) -> BTreeSet<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => BTreeSet::from([name.as_str()]),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns the JSON Schema types of a value.
fn types_of_value(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_f64() => &["number"],
        Value::Number(_) => &["integer", "number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    }
}

fn required_names(schema: &Value) -> impl Iterator<Item = &str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// Resolves a reference within the schema.
fn resolve_reference<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}
