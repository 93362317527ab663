//! The assertions of a schema about numbers, strings, arrays and objects.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::FAULTS;
use super::evaluate::{Check, Evaluated};
use super::found::{RawFault, ValuePath, bounded, other, property};
use super::number::{canonical, compare, count, is_multiple};
use crate::explain::{About, missing, quote, quote_name, unknown};
use crate::suggest::closest;

impl<'s> Check<'s> {
    pub(super) fn text(
        &mut self,
        keywords: &'s Map<String, Value>,
        text: &str,
        place: &ValuePath<'_>,
        found: &mut Vec<RawFault>,
    ) {
        let minimum = keywords.get("minLength").and_then(count);
        let maximum = keywords.get("maxLength").and_then(count);
        if minimum.is_some() || maximum.is_some() {
            self.spend(text.len() / 64);
            bounded(
                text.chars().count(),
                minimum,
                maximum,
                "character",
                place,
                found,
            );
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && self.spend(text.len().saturating_mul(pattern.len()) / 64)
            && !self
                .validator
                .patterns
                .get(pattern)
                .is_some_and(|regex| regex.is_match(text))
        {
            let received = quote(&Value::String(text.to_owned()));
            other(
                found,
                place,
                format!("{received} does not match the pattern `{pattern}`"),
            );
        }
    }

    pub(super) fn items<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &'v [Value],
        place: &ValuePath<'_>,
        found: &mut Vec<RawFault>,
        seen: &mut Evaluated<'v>,
    ) {
        let minimum = keywords.get("minItems").and_then(count);
        let maximum = keywords.get("maxItems").and_then(count);
        bounded(items.len(), minimum, maximum, "item", place, found);
        let prefix = keywords
            .get("prefixItems")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (index, (schema, item)) in prefix.iter().zip(items).enumerate() {
            self.schema(schema, item, &ValuePath::Index(place, index), found);
            seen.items.insert(index);
        }
        if let Some(schema) = keywords.get("items") {
            for (index, item) in items.iter().enumerate().skip(prefix.len()) {
                if found.len() >= FAULTS || self.exhausted {
                    break;
                }
                if schema == &Value::Bool(false) {
                    other(
                        found,
                        place,
                        format!(
                            "has {} items; allowed: at most {}",
                            items.len(),
                            prefix.len()
                        ),
                    );
                    break;
                }
                self.schema(schema, item, &ValuePath::Index(place, index), found);
            }
            seen.all_items = true;
        }
        if let Some(schema) = keywords.get("contains") {
            let minimum = keywords.get("minContains").and_then(count).unwrap_or(1);
            let maximum = keywords.get("maxContains").and_then(count);
            let mut matching = 0;
            for (index, item) in items.iter().enumerate() {
                if self
                    .fits(schema, item, &ValuePath::Index(place, index))
                    .is_some()
                {
                    matching += 1;
                    seen.items.insert(index);
                }
            }
            if matching < minimum {
                other(
                    found,
                    place,
                    format!(
                        "{matching} items are of the kind of which at least {minimum} are needed"
                    ),
                );
            }
            if let Some(maximum) = maximum.filter(|maximum| matching > *maximum) {
                other(
                    found,
                    place,
                    format!(
                        "{matching} items are of the kind of which at most {maximum} are allowed"
                    ),
                );
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut known = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                let mut text = String::new();
                canonical(item, &mut text);
                if !self.spend(text.len() / 16) {
                    break;
                }
                if !known.insert(text) {
                    other(
                        found,
                        &ValuePath::Index(place, index),
                        format!("{} is in the list already; items must differ", quote(item)),
                    );
                    break;
                }
            }
        }
    }

    pub(super) fn members<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
        place: &ValuePath<'_>,
        found: &mut Vec<RawFault>,
        seen: &mut Evaluated<'v>,
    ) {
        let minimum = keywords.get("minProperties").and_then(count);
        let maximum = keywords.get("maxProperties").and_then(count);
        bounded(members.len(), minimum, maximum, "property", place, found);
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        required(keywords, members, place, found);
        for (name, member) in members {
            if found.len() >= FAULTS || self.exhausted {
                break;
            }
            if self.null_is_absent && member.is_null() && may_lack(keywords, name) {
                seen.properties.insert(name);
                continue;
            }
            let inner = ValuePath::Key(place, name);
            if let Some(schema) = keywords.get("propertyNames") {
                let key = Value::String(name.clone());
                let mut wrong = Vec::new();
                self.schema(schema, &key, &inner, &mut wrong);
                if let Some(first) = wrong.into_iter().next() {
                    other(
                        found,
                        place,
                        format!("property name: {}", first.into_fault().message),
                    );
                }
            }
            let mut known = false;
            if let Some(schema) = properties.and_then(|all| all.get(name)) {
                known = true;
                self.schema(schema, member, &inner, found);
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                self.spend(name.len().saturating_mul(pattern.len()) / 64);
                if self
                    .validator
                    .patterns
                    .get(pattern)
                    .is_some_and(|regex| regex.is_match(name))
                {
                    known = true;
                    self.schema(schema, member, &inner, found);
                }
            }
            match additional {
                Some(Value::Bool(false)) if !known => {
                    let names = properties
                        .into_iter()
                        .flat_map(Map::keys)
                        .map(String::as_str);
                    let names: Vec<&str> =
                        names.filter(|name| !members.contains_key(*name)).collect();
                    let message = unknown(place.noun(), name, &names);
                    property(found, place, message, About::Unknown);
                }
                Some(schema) if !known => {
                    known = true;
                    self.schema(schema, member, &inner, found);
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
                    other(
                        found,
                        place,
                        format!("`{name}` needs property `{needed}` beside it"),
                    );
                }
            }
        }
    }
}

pub(super) fn numbers(
    keywords: &Map<String, Value>,
    number: &Number,
    place: &ValuePath<'_>,
    found: &mut Vec<RawFault>,
) {
    type Case = (&'static str, fn(Ordering) -> bool, &'static str);
    let bound = |name: &str| match keywords.get(name) {
        Some(Value::Number(bound)) => Some(bound),
        _ => None,
    };
    let cases: [Case; 4] = [
        ("minimum", Ordering::is_lt, "is less than"),
        ("maximum", Ordering::is_gt, "is more than"),
        ("exclusiveMinimum", Ordering::is_le, "is not more than"),
        ("exclusiveMaximum", Ordering::is_ge, "is not less than"),
    ];
    for (name, fails, words) in cases {
        if let Some(bound) = bound(name)
            && fails(compare(number, bound))
        {
            other(found, place, format!("{number} {words} {bound}"));
        }
    }
    if let Some(divisor) = bound("multipleOf")
        && !is_multiple(number, divisor)
    {
        other(
            found,
            place,
            format!("{number} is not a multiple of {divisor}"),
        );
    }
}

/// Returns `true` if a property is known and optional.
fn may_lack(keywords: &Map<String, Value>, name: &str) -> bool {
    let is_known = keywords
        .get("properties")
        .is_some_and(|all| all.get(name).is_some());
    let required = keywords.get("required").and_then(Value::as_array);
    is_known && !required.is_some_and(|names| names.iter().any(|other| other == name))
}

/// Reports required properties that are missing.
fn required(
    keywords: &Map<String, Value>,
    members: &Map<String, Value>,
    place: &ValuePath<'_>,
    found: &mut Vec<RawFault>,
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
            let mut message = missing(place.noun(), name, properties.and_then(|all| all.get(name)));
            // If unknown names are rejected, they are reported separately, with their own suggestions.
            let strangers = members
                .keys()
                .map(String::as_str)
                .filter(|member| properties.is_none_or(|all| !all.contains_key(*member)));
            if additional != Some(&Value::Bool(false))
                && let Some(stranger) = closest(name, strangers)
            {
                let _ = write!(message, "; is `{}` meant?", quote_name(stranger));
            }
            property(found, place, message, About::Missing(name.to_owned()));
        }
    }
}
