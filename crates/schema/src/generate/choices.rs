//! Rewrites the choices generated for Rust enums, using only keywords that model APIs support: `enum` and `anyOf`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Maximum nesting depth when two objects are compared.
const MAX_COMPARED_DEPTH: usize = 8;

/// Turns `const` into an `enum` with one value.
pub(super) fn const_to_enum(object: &mut Map<String, Value>) {
    if object.contains_key("enum") {
        return;
    }
    if let Some(value) = object.get_mut("const").filter(|value| !value.is_null()) {
        *value = Value::Array(vec![value.take()]);
        rename_keyword(object, "const", "enum");
    }
}

/// Renames a keyword without changing its position.
pub(super) fn rename_keyword(object: &mut Map<String, Value>, old: &str, new: &str) {
    *object = std::mem::take(object)
        .into_iter()
        .map(|(keyword, value)| {
            if keyword == old {
                (new.to_owned(), value)
            } else {
                (keyword, value)
            }
        })
        .collect();
}

/// Turns a `oneOf` into an `anyOf` if no value can match two of its branches, because both keywords then have the same
/// meaning.
pub(super) fn one_of_to_any_of(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else {
        return;
    };
    let exclude_each_other = branches.iter().enumerate().all(|(index, branch)| {
        branches
            .iter()
            .skip(index.saturating_add(1))
            .all(|other| are_disjoint(branch, other, MAX_COMPARED_DEPTH))
    });
    if exclude_each_other && !object.contains_key("anyOf") {
        rename_keyword(object, "oneOf", "anyOf");
    }
}

/// Returns `true` if it is certain that no value matches both schemas.
fn are_disjoint(one: &Value, other: &Value, left: usize) -> bool {
    let (Some(one), Some(other), Some(left)) =
        (one.as_object(), other.as_object(), left.checked_sub(1))
    else {
        return false;
    };
    if let (Some(ours), Some(theirs)) = (allowed_types(one), allowed_types(other)) {
        let overlap = |a: &&str, b: &&str| {
            a == b || matches!((*a, *b), ("integer", "number") | ("number", "integer"))
        };
        if !ours.iter().any(|a| theirs.iter().any(|b| overlap(a, b))) {
            return true;
        }
    }
    if let (Some(ours), Some(theirs)) = (enum_values(one), enum_values(other))
        && !ours.iter().any(|value| theirs.contains(value))
    {
        return true;
    }
    // From here on, only objects can be distinguished: by a tag, or by a property that the other schema forbids.
    describes_object(one)
        && describes_object(other)
        && (have_disjoint_property(one, other, left)
            || requires_forbidden(one, other)
            || requires_forbidden(other, one))
}

fn have_disjoint_property(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    left: usize,
) -> bool {
    required_names(one).any(|name| {
        required_names(other).any(|required| required == name)
            && match (property_schema(one, name), property_schema(other, name)) {
                (Some(ours), Some(theirs)) => are_disjoint(ours, theirs, left),
                _ => false,
            }
    })
}

/// Returns `true` if `one` requires a property that `other` does not allow.
fn requires_forbidden(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    other.get("additionalProperties") == Some(&Value::Bool(false))
        && !other.contains_key("patternProperties")
        && required_names(one).any(|name| property_schema(other, name).is_none())
}

fn allowed_types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn enum_values(schema: &Map<String, Value>) -> Option<&[Value]> {
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => Some(values),
        (None, Some(value)) => Some(std::slice::from_ref(value)),
        _ => None,
    }
}

fn describes_object(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|name| name == "object")
}

fn required_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn property_schema<'s>(schema: &'s Map<String, Value>, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// Turns a `oneOf` of constants, as generated for documented variants, into an `enum`, and moves the variants'
/// documentation to the description.
pub(super) fn variants_to_enum(object: &mut Map<String, Value>) {
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
