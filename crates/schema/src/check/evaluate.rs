//! Applies a schema to a value: resolves references, checks types and choices, and tracks which properties and items
//! have been evaluated.
//!
//! The assertions for each type of value are in [`values`](super::values).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::choice::{FailedBranch, explain_choice};
use super::equality::{are_equal, is_of_type};
use super::examined::ExaminedSchema;
use super::found::{
    FaultCause, UnwordedFault, ValuePath, push_fault, push_message, push_property_fault,
};
use super::values::check_number;
use crate::explain::{FaultSubject, quote, unknown_name_message};

/// The properties and items that have been evaluated so far, for the `unevaluated…` keywords.
#[derive(Default)]
pub(super) struct Evaluated<'v> {
    pub(super) properties: HashSet<&'v str>,
    pub(super) items: HashSet<usize>,
    pub(super) all_properties: bool,
    pub(super) all_items: bool,
}

impl Evaluated<'_> {
    fn add(&mut self, other: Self) {
        self.properties.extend(other.properties);
        self.items.extend(other.items);
        self.all_properties |= other.all_properties;
        self.all_items |= other.all_items;
    }
}

/// The state of a check, with its remaining budget.
pub(super) struct SchemaCheck<'s> {
    pub(super) examined: &'s ExaminedSchema,
    pub(super) steps: u32,
    pub(super) depth: u32,
    pub(super) exhausted: bool,
    /// `true` if `null` counts as absent for optional properties.
    pub(super) null_is_absent: bool,
    /// The pointers of the values that counted as absent, without those in branches that do not match.
    pub(super) absent: Vec<String>,
}

impl<'s> SchemaCheck<'s> {
    /// Checks a value and returns the evaluated properties and items. `found` may already contain earlier problems;
    /// only problems added by this call count as failures.
    pub(super) fn check_schema<'v>(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
    ) -> Evaluated<'v> {
        if self.exhausted || !self.spend_steps(1) {
            return Evaluated::default();
        }
        if self.depth == 0 {
            self.exhausted = true;
            return Evaluated::default();
        }
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                push_message(found, path, "is not allowed here".to_owned());
            }
            return Evaluated::default();
        };
        self.depth -= 1;
        let seen = self.check_keywords(keywords, value, path, found);
        self.depth += 1;
        seen
    }

    pub(super) fn spend_steps(&mut self, steps: usize) -> bool {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        if let Some(left) = self.steps.checked_sub(steps) {
            self.steps = left;
            true
        } else {
            self.exhausted = true;
            false
        }
    }

    /// Checks a value without recording problems; returns `None` if the value does not match.
    pub(super) fn try_schema<'v>(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
        path: &ValuePath<'_>,
    ) -> Option<Evaluated<'v>> {
        let mut found = Vec::new();
        let absent = self.absent.len();
        let seen = self.check_schema(schema, value, path, &mut found);
        self.absent.truncate(absent);
        found.is_empty().then_some(seen)
    }

    fn check_keywords<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
    ) -> Evaluated<'v> {
        let before = found.len();
        let mut seen = Evaluated::default();
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            match self.examined.target(reference) {
                Some(target) => seen.add(self.check_schema(target, value, path, found)),
                None => push_message(found, path, "cannot be checked".to_owned()),
            }
        }
        if let Some(expected) = keywords.get("type")
            && !is_of_type(expected, value)
        {
            let names = match expected {
                Value::Array(names) => names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                name => name.as_str().map(str::to_owned).into_iter().collect(),
            };
            push_fault(found, path, FaultCause::Type(names), value);
            // Further messages about a value of the wrong type would not be helpful.
            return seen;
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum") {
            self.spend_steps(allowed.len());
            if !allowed.iter().any(|candidate| are_equal(candidate, value)) {
                let cause = FaultCause::Value {
                    allowed: allowed.clone(),
                    text: value.as_str().map(str::to_owned),
                };
                push_fault(found, path, cause, value);
            }
        }
        if let Some(allowed) = keywords.get("const")
            && !are_equal(allowed, value)
        {
            let cause = FaultCause::Value {
                allowed: vec![allowed.clone()],
                text: value.as_str().map(str::to_owned),
            };
            push_fault(found, path, cause, value);
        }
        match value {
            Value::Number(number) => check_number(keywords, number, path, found),
            Value::String(text) => self.check_text(keywords, text, path, found),
            Value::Array(items) => self.check_items(keywords, items, path, found, &mut seen),
            Value::Object(members) => self.check_members(keywords, members, path, found, &mut seen),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combinations(keywords, value, path, found, &mut seen);
        // Unevaluated members can be determined only after all other keywords have been applied.
        if self.examined.tracks && found.len() == before {
            self.check_unevaluated(keywords, value, path, found, &mut seen);
        }
        seen
    }

    fn check_combinations<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
        seen: &mut Evaluated<'v>,
    ) {
        for schema in keywords
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            seen.add(self.check_schema(schema, value, path, found));
        }
        if let Some(Value::Array(branches)) = keywords.get("anyOf") {
            self.check_choice(branches, false, value, path, found, seen);
        }
        if let Some(Value::Array(branches)) = keywords.get("oneOf") {
            self.check_choice(branches, true, value, path, found, seen);
        }
        if let Some(schema) = keywords.get("not")
            && self.try_schema(schema, value, path).is_some()
        {
            push_message(
                found,
                path,
                format!("{} is of a kind that is not allowed", quote(value)),
            );
        }
        if let Some(condition) = keywords.get("if") {
            let branch = match self.try_schema(condition, value, path) {
                Some(evaluated) => {
                    seen.add(evaluated);
                    keywords.get("then")
                }
                None => keywords.get("else"),
            };
            if let Some(schema) = branch {
                seen.add(self.check_schema(schema, value, path, found));
            }
        }
        if let (Some(Value::Object(schemas)), Value::Object(members)) =
            (keywords.get("dependentSchemas"), value)
        {
            for (name, schema) in schemas {
                if members.contains_key(name) {
                    seen.add(self.check_schema(schema, value, path, found));
                }
            }
        }
    }

    fn check_choice<'v>(
        &mut self,
        branches: &'s [Value],
        exactly_one: bool,
        value: &'v Value,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
        seen: &mut Evaluated<'v>,
    ) {
        let mut matching = 0_usize;
        let mut failed = Vec::new();
        for branch in branches {
            if self.exhausted {
                return;
            }
            let mut wrong = Vec::new();
            let absent = self.absent.len();
            let evaluated = self.check_schema(branch, value, path, &mut wrong);
            if wrong.is_empty() {
                matching += 1;
                seen.add(evaluated);
                if !exactly_one && !self.examined.tracks {
                    return;
                }
            } else {
                failed.push(FailedBranch {
                    schema: branch,
                    wrong,
                    absent: self.absent.split_off(absent),
                });
            }
        }
        match matching {
            0 => {
                let mut absent = explain_choice(self, failed, path, value, found);
                self.absent.append(&mut absent);
            }
            1 => {}
            _ if exactly_one => push_message(
                found,
                path,
                format!(
                    "matches {matching} of the {} forms, but must match exactly one",
                    branches.len()
                ),
            ),
            _ => {}
        }
    }

    fn check_unevaluated<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        path: &ValuePath<'_>,
        found: &mut Vec<UnwordedFault>,
        seen: &mut Evaluated<'v>,
    ) {
        if let (Some(schema), Value::Object(members)) =
            (keywords.get("unevaluatedProperties"), value)
        {
            for (name, member) in members {
                if !seen.all_properties && !seen.properties.contains(name.as_str()) {
                    if schema == &Value::Bool(false) {
                        let (message, meant) =
                            unknown_name_message(path.noun(), name, &[], |_| false);
                        let name = name.clone();
                        let about = FaultSubject::Unknown { name, meant };
                        push_property_fault(found, path, message, about);
                    } else {
                        self.check_schema(schema, member, &ValuePath::Key(path, name), found);
                    }
                }
            }
            seen.all_properties = true;
        }
        if let (Some(schema), Value::Array(items)) = (keywords.get("unevaluatedItems"), value) {
            for (index, item) in items.iter().enumerate() {
                if !seen.all_items && !seen.items.contains(&index) {
                    self.check_schema(schema, item, &ValuePath::Index(path, index), found);
                }
            }
            seen.all_items = true;
        }
    }
}
