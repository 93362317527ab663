//! From Rust types to the schemas that model APIs accept.
//!
//! What `schemars` derives is correct, but several model APIs refuse parts of it. Input schemas are therefore made
//! plainer without changing what they allow: nothing is referred to that could stand in place, absence is not spelled as
//! `null`, number formats become bounds, documented variants become an `enum` with their documentation in the
//! description. Output schemas keep their `null`s, because results have them.
//!
//! What of a schema is enforced is left to [`check`](super::check) and [`decode`](super::decode).

use std::fmt::Write as _;

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Number, Value};

use crate::handler::constraint::{Bound, Constraints};
use crate::handler::parameter::{DefaultValue, ParameterMeta};

/// The header keyword of tool arguments.
pub(crate) const HEADER: &str = "x-mcp-header";

/// The schema of `structuredContent`, plain enough for clients: references in place where possible, nulls kept.
pub(crate) fn output_schema(make: fn(&mut SchemaGenerator) -> Option<Schema>) -> Option<Value> {
    let mut generator = settings().for_serialize().into_generator();
    let mut schema = make(&mut generator)?.to_value();
    drop_type_title(&mut schema);
    normalise(&mut schema, Null::Kept);
    if let Value::Bool(allowed) = schema {
        schema = boolean(allowed);
    }
    add_definitions(&mut schema, &mut generator, Null::Kept);
    Some(schema)
}

/// Makes the schemas of the parameters of one function, so that what recursive types define is gathered in one place.
pub(crate) struct Properties {
    generator: SchemaGenerator,
}

impl Properties {
    pub(crate) fn new() -> Self {
        Self {
            generator: settings().into_generator(),
        }
    }

    /// The schema of one argument with everything its parameter says; problems are added to the list.
    pub(crate) fn argument(
        &mut self,
        parameter: &ParameterMeta,
        problems: &mut Vec<String>,
    ) -> Value {
        let mut schema = (parameter.schema)(&mut self.generator)
            .map_or(Value::Object(Map::new()), Schema::to_value);
        if let Value::Bool(allowed) = schema {
            schema = boolean(allowed);
        }
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            if !parameter.doc.is_empty() {
                object.insert("description".to_owned(), parameter.doc.into());
            }
        }
        normalise(&mut schema, Null::MeansAbsent);
        if parameter.flatten {
            return schema;
        }
        let name = parameter.name;
        let before = problems.len();
        constrain(&mut schema, &parameter.constraints, problems);
        let default = match &parameter.default {
            Some(DefaultValue::Json(text)) => serde_json::from_str(text)
                .map_err(|error| problems.push(format!("the default is not JSON: {error}")))
                .ok(),
            Some(DefaultValue::Rust { json, .. }) => json()
                .map_err(|error| {
                    problems.push(format!("the default cannot be written as JSON: {error}"));
                })
                .ok(),
            None => None,
        };
        if let Some(object) = schema.as_object_mut() {
            if let Some(default) = default.filter(|default| !default.is_null()) {
                object.insert("default".to_owned(), default);
            }
            if let Some(header) = parameter.header {
                object.insert(HEADER.to_owned(), header.into());
            }
        }
        for problem in problems.iter_mut().skip(before) {
            problem.insert_str(0, &format!("argument `{name}`: "));
        }
        schema
    }

    /// Adds what recursive types refer to.
    pub(crate) fn finish(mut self, root: &mut Value) {
        add_definitions(root, &mut self.generator, Null::MeansAbsent);
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

fn add_definitions(root: &mut Value, generator: &mut SchemaGenerator, null: Null) {
    let mut definitions = generator.take_definitions(true);
    if definitions.is_empty() {
        return;
    }
    for definition in definitions.values_mut() {
        normalise(
            definition,
            if null == Null::Kept {
                null
            } else {
                Null::Value
            },
        );
    }
    if let Some(object) = root.as_object_mut() {
        match object
            .entry("$defs")
            .or_insert_with(|| Value::Object(Map::new()))
        {
            Value::Object(present) => present.extend(definitions),
            other => *other = Value::Object(definitions),
        }
    }
}

/// What `null` means at some place of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    /// An output: it is left as it is everywhere below.
    Kept,
    /// An input that may be left out instead: the schema need not mention it.
    MeansAbsent,
    /// An input that cannot be left out, such as an item: `null` is a value like any other.
    Value,
}

fn boolean(allowed: bool) -> Value {
    let mut object = Map::new();
    if !allowed {
        object.insert("not".to_owned(), Value::Object(Map::new()));
    }
    Value::Object(object)
}

/// A root schema is titled with the name of its type, which nobody wrote as a title.
fn drop_type_title(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && let Some(Value::String(title)) = object.get("title")
        && !title.contains(' ')
        && title.starts_with(|first: char| first.is_uppercase())
    {
        object.remove("title");
    }
}

fn normalise(schema: &mut Value, null: Null) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("$schema");
    if null == Null::MeansAbsent {
        drop_null(object);
    }
    if null != Null::Kept && object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    formats_to_bounds(object);
    variants_to_enum(object);
    let value = if null == Null::Kept {
        Null::Kept
    } else {
        Null::Value
    };
    let required: Vec<String> = names(object.get("required"));
    for (keyword, inner) in object.iter_mut() {
        match keyword.as_str() {
            "properties" => {
                for (name, property) in inner.as_object_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = property {
                        *property = boolean(*allowed);
                    }
                    let absent = null != Null::Kept && !required.contains(name);
                    normalise(property, if absent { Null::MeansAbsent } else { value });
                }
            }
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                for inner in inner.as_object_mut().into_iter().flatten() {
                    normalise(inner.1, value);
                }
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                for inner in inner.as_array_mut().into_iter().flatten() {
                    if let Value::Bool(allowed) = inner {
                        *inner = boolean(*allowed);
                    }
                    normalise(inner, value);
                }
            }
            "items" | "contains" => {
                // An array of anything is said by leaving `items` empty; `false` means that there are none.
                if inner == &Value::Bool(true) {
                    *inner = boolean(true);
                }
                normalise(inner, value);
            }
            "additionalProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => normalise(inner, value),
            _ => {}
        }
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// `["string", "null"]` becomes `"string"`, a choice between one thing and null becomes that thing.
fn drop_null(object: &mut Map<String, Value>) {
    // Each turn may bring up what a branch held, once per level of `Option`.
    for _ in 0..8 {
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(allowed)) = object.get_mut("enum")
            && allowed.len() > 1
        {
            allowed.retain(|value| !value.is_null());
        }
        let mut changed = false;
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = object.get_mut(keyword) else {
                continue;
            };
            let before = branches.len();
            if before > 1 {
                branches.retain(|branch| !is_null(branch));
            }
            if before == branches.len() {
                continue;
            }
            if let [Value::Object(only)] = branches.as_slice() {
                let only = only.clone();
                object.shift_remove(keyword);
                for (name, value) in only {
                    object.entry(name).or_insert(value);
                }
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
        || schema.get("const").is_some_and(Value::is_null)
}

/// Model APIs know neither `uint8` nor `int64`; they know bounds. 64 bits are beyond what JSON numbers keep anyway.
fn formats_to_bounds(object: &mut Map<String, Value>) {
    let bounds: Option<(i64, i64)> = match object.get("format").and_then(Value::as_str) {
        Some("int8") => Some((i8::MIN.into(), i8::MAX.into())),
        Some("int16") => Some((i16::MIN.into(), i16::MAX.into())),
        Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
        Some("uint8") => Some((0, u8::MAX.into())),
        Some("uint16") => Some((0, u16::MAX.into())),
        Some("uint32") => Some((0, u32::MAX.into())),
        Some("int" | "int64" | "int128" | "uint" | "uint64" | "uint128" | "float" | "double") => {
            None
        }
        _ => return,
    };
    object.shift_remove("format");
    if let Some((minimum, maximum)) = bounds {
        object.entry("minimum").or_insert_with(|| minimum.into());
        object.entry("maximum").or_insert_with(|| maximum.into());
    }
}

/// `oneOf` of constants, as documented variants give, becomes `enum` with a list of what they mean in the description.
fn variants_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut meanings = String::new();
    let mut kind: Option<&str> = None;
    for branch in branches {
        let Some(branch) = branch.as_object() else {
            return;
        };
        let known = [
            "const",
            "enum",
            "type",
            "description",
            "title",
            "deprecated",
        ];
        if !branch
            .keys()
            .all(|keyword| known.contains(&keyword.as_str()))
        {
            return;
        }
        let found = match (branch.get("const"), branch.get("enum")) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values,
            _ => return,
        };
        for value in found {
            let this = match value {
                Value::String(_) => "string",
                Value::Number(number) if number.is_f64() => "number",
                Value::Number(_) => "integer",
                Value::Bool(_) => "boolean",
                _ => return,
            };
            if kind.is_some_and(|kind| kind != this) {
                return;
            }
            kind = Some(this);
            if let Some(text) = branch.get("description").and_then(Value::as_str) {
                let name = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let _ = write!(meanings, "\n- `{name}`: {}", text.replace('\n', " "));
            }
            values.push(value.clone());
        }
    }
    let Some(kind) = kind.map(str::to_owned) else {
        return;
    };
    object.shift_remove("oneOf");
    object.entry("type").or_insert_with(|| kind.into());
    object.insert("enum".to_owned(), Value::Array(values));
    if !meanings.is_empty() {
        let text = match object.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text}\n{meanings}"),
            None => meanings.trim_start().to_owned(),
        };
        object.insert("description".to_owned(), text.into());
    }
}

/// Whether some value of this type may fit the schema, as far as it says.
pub(crate) fn allows(schema: &Value, kind: &str) -> bool {
    let Some(object) = schema.as_object() else {
        return schema != &Value::Bool(false);
    };
    let mut said = false;
    match object.get("type") {
        Some(Value::String(name)) => {
            if name != kind && !(name == "number" && kind == "integer") {
                return false;
            }
            said = true;
        }
        Some(Value::Array(names)) => {
            if !names
                .iter()
                .any(|name| name == kind || (name == "number" && kind == "integer"))
            {
                return false;
            }
            said = true;
        }
        _ => {}
    }
    let matches = |value: &Value| match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" | "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    if let Some(Value::Array(allowed)) = object.get("enum") {
        return allowed.iter().any(matches);
    }
    if let Some(value) = object.get("const") {
        return matches(value);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = object.get(keyword) {
            return branches.iter().any(|branch| allows(branch, kind));
        }
    }
    if let Some(Value::Array(parts)) = object.get("allOf") {
        return parts.iter().all(|part| allows(part, kind));
    }
    said || !object.contains_key("not")
}

/// Merges what `#[arg(…)]` demands into a schema, and says what of it makes no sense there.
fn constrain(schema: &mut Value, constraints: &Constraints, problems: &mut Vec<String>) {
    let any_number = allows(schema, "number") || allows(schema, "integer");
    let (text, list) = (allows(schema, "string"), allows(schema, "array"));
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for (keyword, bound, upper) in [
        ("minimum", constraints.minimum, false),
        ("maximum", constraints.maximum, true),
    ] {
        let Some(bound) = bound else { continue };
        if !any_number {
            problems.push("`range` applies to numbers, and its schema allows none".to_owned());
            break;
        }
        let Some(number) = number(bound) else {
            problems.push(format!("`range`: {bound:?} cannot be written as JSON"));
            continue;
        };
        let present = object.get(keyword).and_then(Value::as_f64);
        let given = number.as_f64();
        let narrower = match (present, given) {
            (Some(present), Some(given)) if upper => given <= present,
            (Some(present), Some(given)) => given >= present,
            _ => true,
        };
        if narrower {
            object.insert(keyword.to_owned(), Value::Number(number));
        }
    }
    for (length, on_text, on_list) in [
        (constraints.min_length, "minLength", "minItems"),
        (constraints.max_length, "maxLength", "maxItems"),
    ] {
        let Some(length) = length else { continue };
        if !text && !list {
            problems.push(
                "`length` applies to text and lists, and its schema allows neither".to_owned(),
            );
            break;
        }
        if text {
            object.insert(on_text.to_owned(), length.into());
        }
        if list {
            object.insert(on_list.to_owned(), length.into());
        }
    }
    for (name, value) in [
        ("pattern", constraints.pattern),
        ("format", constraints.format),
    ] {
        let Some(value) = value else { continue };
        if !text {
            problems.push(format!(
                "`{name}` applies to text, and its schema allows none"
            ));
            continue;
        }
        if name == "pattern"
            && let Err(error) = super::check::compile(value)
        {
            problems.push(error);
            continue;
        }
        object.insert(name.to_owned(), value.into());
    }
    if let Some(example) = constraints.example {
        match serde_json::from_str::<Value>(example) {
            Ok(example) => {
                object.insert("examples".to_owned(), Value::Array(vec![example]));
            }
            Err(error) => problems.push(format!("the example is not JSON: {error}")),
        }
    }
    if let Some(inner) = constraints.items {
        if list {
            let items = object
                .entry("items")
                .or_insert_with(|| Value::Object(Map::new()));
            constrain(items, inner, problems);
        } else {
            problems.push("`items` applies to lists, and its schema allows none".to_owned());
        }
    }
}

fn number(bound: Bound) -> Option<Number> {
    match bound {
        Bound::Integer(whole) => Number::from_i128(whole),
        Bound::Float(float) => Number::from_f64(float),
    }
}

/// The values an argument completes to by itself: those of an `enum` or a `bool`, also inside a choice.
pub(crate) fn candidates(schema: &Value) -> Vec<String> {
    let mut values = Vec::new();
    collect_candidates(schema, 0, &mut values);
    values
}

fn collect_candidates(schema: &Value, depth: u32, values: &mut Vec<String>) {
    let Some(object) = schema.as_object().filter(|_| depth < 16) else {
        return;
    };
    let mut add = |value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return,
        };
        if !values.contains(&text) {
            values.push(text);
        }
    };
    if let Some(Value::Array(allowed)) = object.get("enum") {
        allowed.iter().for_each(add);
        return;
    }
    if let Some(value) = object.get("const") {
        add(value);
        return;
    }
    let boolean = |name: &Value| name == "boolean";
    if object.get("type").is_some_and(|kind| {
        boolean(kind)
            || kind
                .as_array()
                .is_some_and(|names| names.iter().any(boolean))
    }) {
        add(&Value::Bool(true));
        add(&Value::Bool(false));
    }
    for keyword in ["oneOf", "anyOf"] {
        for branch in object
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            collect_candidates(branch, depth + 1, values);
        }
    }
}

#[cfg(test)]
mod tests;
