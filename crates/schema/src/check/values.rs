//! Schema assertions for numbers, strings, arrays and objects.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::bounds::FAULTS;
use super::equality::write_canonical;
use super::evaluate::{Evaluated, SchemaCheck};
use super::found::{UnwordedFault, ValuePath, push_message, push_property_fault};
use crate::constraint::{
    Bound, PATTERN, RangeKeyword, Size, SizeUnit, is_multiple, mismatch_message,
    not_a_multiple_message, to_count,
};
use crate::explain::{FaultSubject, missing_name_message, quote, quote_name, unknown_name_message};
use crate::suggest::closest;

impl<'s> SchemaCheck<'s> {
    pub(super) fn check_text(
        &mut self,
        keywords: &'s Map<String, Value>,
        text: &str,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
    ) {
        let allowed = Size::of_schema(keywords, SizeUnit::Characters);
        if allowed.is_limited() {
            self.spend_steps(text.len() / 64);
            check_size(allowed, text.chars().count(), path, found);
        }
        if let Some(pattern) = keywords.get(PATTERN).and_then(Value::as_str)
            && self.spend_steps(text.len().saturating_mul(pattern.len()) / 64)
            && !self
                .examined
                .patterns
                .get(pattern)
                .is_some_and(|regex| regex.is_match(text))
        {
            push_message(found, path, mismatch_message(text, pattern));
        }
    }

    pub(super) fn check_items<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &'v [Value],
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
        seen: &mut Evaluated<'v>,
    ) {
        check_size(
            Size::of_schema(keywords, SizeUnit::Items),
            items.len(),
            path,
            found,
        );
        let prefix = keywords
            .get("prefixItems")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (index, (schema, item)) in prefix.iter().zip(items).enumerate() {
            self.check_schema(schema, item, &ValuePath::Index(path, index), found);
            seen.items.insert(index);
        }
        if let Some(schema) = keywords.get("items") {
            for (index, item) in items.iter().enumerate().skip(prefix.len()) {
                if found.len() >= FAULTS || self.exhausted {
                    break;
                }
                if schema == &Value::Bool(false) {
                    let allowed = Size::at_most(SizeUnit::Items, prefix.len());
                    check_size(allowed, items.len(), path, found);
                    break;
                }
                self.check_schema(schema, item, &ValuePath::Index(path, index), found);
            }
            seen.all_items = true;
        }
        if let Some(schema) = keywords.get("contains") {
            let minimum = keywords.get("minContains").and_then(to_count).unwrap_or(1);
            let maximum = keywords.get("maxContains").and_then(to_count);
            let mut matching = 0;
            for (index, item) in items.iter().enumerate() {
                if self
                    .try_schema(schema, item, &ValuePath::Index(path, index))
                    .is_some()
                {
                    matching += 1;
                    seen.items.insert(index);
                }
            }
            if matching < minimum {
                push_message(
                    found,
                    path,
                    format!("{matching} items are of the required kind; the minimum is {minimum}"),
                );
            }
            if let Some(maximum) = maximum.filter(|maximum| matching > *maximum) {
                push_message(
                    found,
                    path,
                    format!(
                        "{matching} items are of the restricted kind; the maximum is {maximum}"
                    ),
                );
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut known = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                let mut text = String::new();
                write_canonical(item, &mut text);
                if !self.spend_steps(text.len() / 16) {
                    break;
                }
                if !known.insert(text) {
                    push_message(
                        found,
                        &ValuePath::Index(path, index),
                        format!(
                            "{} is already in the list; items must be unique",
                            quote(item)
                        ),
                    );
                    break;
                }
            }
        }
    }

    pub(super) fn check_members<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
        seen: &mut Evaluated<'v>,
    ) {
        check_size(
            Size::of_schema(keywords, SizeUnit::Properties),
            members.len(),
            path,
            found,
        );
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        check_required(keywords, members, path, found);
        for (name, member) in members {
            if found.len() >= FAULTS || self.exhausted {
                break;
            }
            if self.null_is_absent && member.is_null() && is_optional_property(keywords, name) {
                seen.properties.insert(name);
                self.absent.push(ValuePath::Key(path, name).pointer());
                continue;
            }
            let inner = ValuePath::Key(path, name);
            if let Some(schema) = keywords.get("propertyNames") {
                let key = Value::String(name.clone());
                let mut wrong = Vec::new();
                self.check_schema(schema, &key, &inner, &mut wrong);
                if let Some(first) = wrong.into_iter().next() {
                    push_message(
                        found,
                        path,
                        format!("property name: {}", first.into_fault().message),
                    );
                }
            }
            let mut known = false;
            if let Some(schema) = properties.and_then(|all| all.get(name)) {
                known = true;
                self.check_schema(schema, member, &inner, found);
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                self.spend_steps(name.len().saturating_mul(pattern.len()) / 64);
                if self
                    .examined
                    .patterns
                    .get(pattern)
                    .is_some_and(|regex| regex.is_match(name))
                {
                    known = true;
                    self.check_schema(schema, member, &inner, found);
                }
            }
            match additional {
                Some(Value::Bool(false)) if !known => {
                    let names = properties
                        .into_iter()
                        .flat_map(Map::keys)
                        .map(String::as_str);
                    let names: Vec<&str> = names.collect();
                    let is_given = |name: &str| members.contains_key(name);
                    let (message, meant) =
                        unknown_name_message(path.noun(), name, &names, is_given);
                    let name = name.clone();
                    let about = FaultSubject::Unknown { name, meant };
                    push_property_fault(found, path, message, about);
                }
                Some(schema) if !known => {
                    known = true;
                    self.check_schema(schema, member, &inner, found);
                }
                _ => {}
            }
            if known {
                seen.properties.insert(name);
            }
        }
        for (name, needed) in keywords
            .get("dependentRequired")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if !members.contains_key(name) {
                continue;
            }
            for needed in needed
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !members.contains_key(needed) {
                    push_message(
                        found,
                        path,
                        format!("`{name}` also requires the property `{needed}`"),
                    );
                }
            }
        }
    }
}

pub(super) fn check_number(
    keywords: &Map<String, Value>,
    number: &Number,
    path: &ValuePath<'_>,
    found: &mut Vec<UnwordedFault>,
) {
    for keyword in RangeKeyword::ALL {
        if let Some(Value::Number(bound)) = keywords.get(keyword.name())
            && !keyword.is_satisfied(Bound::from_number(number), Bound::from_number(bound))
        {
            push_message(found, path, keyword.violation_message(number, bound));
        }
    }
    if let Some(Value::Number(divisor)) = keywords.get("multipleOf")
        && !is_multiple(number, divisor)
    {
        push_message(found, path, not_a_multiple_message(number, divisor));
    }
}

/// Reports a size that is not allowed.
fn check_size(allowed: Size, size: usize, path: &ValuePath<'_>, found: &mut Vec<UnwordedFault>) {
    if !allowed.is_satisfied(size) {
        push_message(found, path, allowed.violation_message(size));
    }
}

/// Returns `true` if a property is known and optional.
fn is_optional_property(keywords: &Map<String, Value>, name: &str) -> bool {
    let is_known = keywords
        .get("properties")
        .is_some_and(|all| all.get(name).is_some());
    let required = keywords.get("required").and_then(Value::as_array);
    is_known && !required.is_some_and(|names| names.iter().any(|other| other == name))
}

/// Reports required properties that are missing.
fn check_required(
    keywords: &Map<String, Value>,
    members: &Map<String, Value>,
    path: &ValuePath<'_>,
    found: &mut Vec<UnwordedFault>,
) {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let additional = keywords.get("additionalProperties");
    for name in keywords
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !members.contains_key(name) {
            let mut message =
                missing_name_message(path.noun(), name, properties.and_then(|all| all.get(name)));
            // If unknown names are rejected, they are reported separately with their own suggestions.
            let candidates = members
                .keys()
                .map(String::as_str)
                .filter(|member| properties.is_none_or(|all| !all.contains_key(*member)));
            if additional != Some(&Value::Bool(false))
                && let Some(candidate) = closest(name, candidates)
            {
                let _ = write!(message, "; is `{}` meant?", quote_name(candidate));
            }
            push_property_fault(found, path, message, FaultSubject::Missing(name.to_owned()));
        }
    }
}
