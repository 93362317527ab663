//! Explains why a value matches no branch of a choice.
//!
//! The branches of a Rust enum are told apart by a tag or by the name of their only property. Then the mistakes are those
//! of one branch, or one mistake that lists all tags or names. For other choices, they are those of the closest branch.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::bounds::FAULTS;
use super::evaluate::SchemaCheck;
use super::found::{
    FaultCause, UnwordedFault, ValuePath, push_fault, push_message, push_property_fault,
};
use crate::explain::{
    FaultSubject, missing_name_message, quote, quote_names, unknown_name_message,
    unknown_value_message,
};

/// Maximum number of references to follow from a branch to its schema.
const MAX_REFERENCES: usize = 16;

/// A branch that the value does not match, with the problems found.
pub(super) struct FailedBranch<'s> {
    pub(super) schema: &'s Value,
    pub(super) wrong: Vec<UnwordedFault>,
    /// The pointers of the values that count as absent in this branch.
    pub(super) absent: Vec<String>,
}

/// Explains why a value does not match any branch. Returns the pointers of the values that count as absent in the branch that
/// is explained.
pub(super) fn explain_choice<'s>(
    check: &SchemaCheck<'s>,
    mut failed: Vec<FailedBranch<'s>>,
    path: &ValuePath<'_>,
    value: &Value,
    found: &mut Vec<UnwordedFault>,
) -> Vec<String> {
    let pointer = path.pointer();
    // A `null` branch means only that the value is optional.
    if failed.len() > 1 {
        failed.retain(|branch| {
            !matches!(branch.wrong.as_slice(), [UnwordedFault { cause: FaultCause::Type(names), .. }] if names.iter().all(|name| name == "null"))
        });
    }
    let objects: Vec<_> = failed
        .iter()
        .filter_map(|branch| object_branch(check, branch.schema))
        .collect();
    let keys = only_keys(&objects);
    let wrong_type = |branch: &FailedBranch<'_>| matches!(branch.wrong.as_slice(), [UnwordedFault { cause: FaultCause::Type(_), pointer: at, .. }] if *at == pointer);
    if failed.iter().all(wrong_type) {
        let mut names: Vec<String> = Vec::new();
        let causes = failed.into_iter().flat_map(|branch| branch.wrong);
        for cause in causes.map(|found| found.cause) {
            if let FaultCause::Type(more) = cause {
                for name in more {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        push_fault(found, path, FaultCause::Type(names), value);
        return Vec::new();
    }
    match (value, keys) {
        (Value::Object(members), Some(keys)) => {
            let given: Vec<&str> = keys
                .iter()
                .copied()
                .filter(|key| members.contains_key(*key))
                .collect();
            let [only] = given.as_slice() else {
                explain_keys(members, &keys, &given, path, found);
                return Vec::new();
            };
            failed.retain(|branch| {
                object_branch(check, branch.schema)
                    .is_some_and(|object| only_key(object) == Some(only))
            });
        }
        (Value::String(_), Some(keys)) => {
            failed.retain(|branch| !wrong_type(branch));
            let listed = failed.iter_mut().flat_map(|branch| &mut branch.wrong);
            for allowed in listed.filter_map(|found| match &mut found.cause {
                FaultCause::Value { allowed, .. } => Some(allowed),
                _ => None,
            }) {
                // The other variants are objects with one property.
                let form =
                    |key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), "…".into())]));
                allowed.extend(keys.iter().map(form));
            }
        }
        (Value::Object(members), None) => {
            if let Some(tag) = common_tag(&objects) {
                let tags: Vec<&Value> = objects
                    .iter()
                    .flat_map(|object| tags(object, tag))
                    .collect();
                let Some(given) = members.get(tag) else {
                    let schema = Value::Object(Map::from_iter([(
                        "enum".to_owned(),
                        tags.into_iter().cloned().collect(),
                    )]));
                    let message = missing_name_message(path.noun(), tag, Some(&schema));
                    push_property_fault(
                        found,
                        path,
                        message,
                        FaultSubject::Variant { of: pointer },
                    );
                    return Vec::new();
                };
                if !tags.contains(&given) {
                    let tags: Vec<Value> = tags.into_iter().cloned().collect();
                    let message = unknown_value_message(&tags, given.as_str(), &quote(given));
                    let about = FaultSubject::Variant { of: pointer };
                    push_property_fault(found, &ValuePath::Key(path, tag), message, about);
                    return Vec::new();
                }
                failed.retain(|branch| {
                    object_branch(check, branch.schema)
                        .is_some_and(|object| tags_contain(object, tag, given))
                });
            }
        }
        _ => {}
    }
    explain_closest(failed, &pointer, wrong_type, found)
}

/// Reports an object that does not have exactly one of the names of variants.
fn explain_keys(
    members: &Map<String, Value>,
    keys: &[&str],
    given: &[&str],
    path: &ValuePath<'_>,
    found: &mut Vec<UnwordedFault>,
) {
    if !given.is_empty() {
        let message = format!(
            "has the properties {}, but must have exactly one of {}",
            quote_names(given),
            quote_names(keys)
        );
        push_message(found, path, message);
        return;
    }
    if members.is_empty() {
        let message = format!("missing {}: one of {}", path.noun(), quote_names(keys));
        push_message(found, path, message);
        return;
    }
    for name in members.keys() {
        let (message, meant) = unknown_name_message(path.noun(), name, keys, |_| false);
        let name = name.clone();
        push_property_fault(found, path, message, FaultSubject::Unknown { name, meant });
    }
}

/// Reports the problems in the closest branch, and returns the values that count as absent there.
fn explain_closest(
    mut failed: Vec<FailedBranch<'_>>,
    pointer: &str,
    wrong_type: impl Fn(&FailedBranch<'_>) -> bool,
    found: &mut Vec<UnwordedFault>,
) -> Vec<String> {
    failed.retain(|branch| !wrong_type(branch));
    let forms = failed.len();
    // A branch with another value somewhere is a form that is not meant.
    let lists_values = |branch: &FailedBranch<'_>| {
        let is_listed = |found: &UnwordedFault| matches!(found.cause, FaultCause::Value { .. });
        branch.wrong.iter().any(is_listed)
    };
    let best = failed
        .into_iter()
        .min_by_key(|branch| (lists_values(branch), branch.wrong.len()));
    let Some(best) = best else {
        return Vec::new();
    };
    for mut item in best.wrong {
        if forms > 1
            && item.pointer == pointer
            && let FaultCause::Other(message, _) = &mut item.cause
        {
            let _ = write!(message, " (in the closest of {forms} allowed forms)");
        }
        if found.len() < FAULTS {
            found.push(item);
        }
    }
    best.absent
}

/// Returns the keywords of a branch that allows objects, following references.
fn object_branch<'s>(check: &SchemaCheck<'s>, schema: &'s Value) -> Option<&'s Map<String, Value>> {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let keywords = schema.as_object()?;
        let Some(reference) = keywords.get("$ref").and_then(Value::as_str) else {
            let is_object = keywords.get("type").is_some_and(|name| name == "object");
            return is_object.then_some(keywords);
        };
        schema = check.examined.target(reference)?;
    }
    None
}

/// Returns the name of the only property of a branch, which must be required.
fn only_key(object: &Map<String, Value>) -> Option<&str> {
    let properties = object.get("properties")?.as_object()?;
    let mut names = properties.keys();
    let (Some(name), None) = (names.next(), names.next()) else {
        return None;
    };
    // If the property has a fixed value, it is a tag.
    (is_required(object, name) && tags(object, name).is_empty()).then_some(name)
}

/// Returns the names of the only properties of all branches, or `None` if a branch has several.
fn only_keys<'s>(objects: &[&'s Map<String, Value>]) -> Option<Vec<&'s str>> {
    let keys: Option<Vec<&str>> = objects.iter().map(|object| only_key(object)).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// Returns the name of a required property that has only certain values in each branch.
fn common_tag<'s>(objects: &[&'s Map<String, Value>]) -> Option<&'s str> {
    let (first, others) = objects.split_first()?;
    let names = first.get("properties")?.as_object()?.keys();
    let is_tag = |object: &Map<String, Value>, name: &str| {
        is_required(object, name) && !tags(object, name).is_empty()
    };
    names.map(String::as_str).find(|name| {
        is_tag(first, name) && !others.is_empty() && others.iter().all(|other| is_tag(other, name))
    })
}

fn is_required(object: &Map<String, Value>, name: &str) -> bool {
    let required = object.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|other| other == name))
}

/// Returns the values that a branch allows for a property, or nothing if it does not list them.
fn tags<'s>(object: &'s Map<String, Value>, name: &str) -> &'s [Value] {
    let property = object.get("properties").and_then(|all| all.get(name));
    let Some(property) = property else { return &[] };
    match (property.get("enum"), property.get("const")) {
        (Some(Value::Array(values)), _) => values,
        (None, Some(value)) => std::slice::from_ref(value),
        _ => &[],
    }
}

fn tags_contain(object: &Map<String, Value>, name: &str, value: &Value) -> bool {
    tags(object, name).contains(value)
}
