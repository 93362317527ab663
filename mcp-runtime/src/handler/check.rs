//! Checks JSON against a schema and explains everything that is wrong with it.
//!
//! JSON Schema 2020-12 without the network: every assertion and applicator of the dialect, with references inside the
//! document only. What cannot be honoured is refused when the validator is made, never ignored when it runs. `format` is
//! an annotation, as the dialect has it by default. Work is bounded, so that neither a hostile value nor a schema that
//! refers to itself can keep it busy.
//!
//! Where schemas come from is left to [`schema`](super::schema), what is done with faults to the callers.
//!
//! Specification: <https://json-schema.org/draft/2020-12>.

mod explain;
mod number;
mod pattern;
mod survey;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use explain::{Cause, Found, Place, bounded, explain_choice, other, push};
pub(crate) use explain::{missing, push_token, quote, unknown};
pub(crate) use number::whole;
use number::{canonical, compare, count, equal, is_multiple, is_of_type};
pub(crate) use pattern::compile;
use survey::Survey;

/// Most places of a schema that are looked at for one value.
const STEPS: u32 = 500_000;

/// Deepest nesting of schemas while a value is checked.
const DEPTH: u32 = 192;

/// Most faults that are collected; more would help nobody.
const FAULTS: usize = 100;

/// Most lines [`describe`] writes.
const LINES: usize = 20;

/// One thing that is wrong with the arguments of a call, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// JSON pointer to the value; empty for the argument object itself.
    pub pointer: String,
    /// What was received, what is allowed, and a suggestion.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}

/// The text a model reads: one line per fault, the first twenty of them.
pub(crate) fn describe(faults: &[Fault]) -> String {
    let mut text = String::new();
    for fault in faults.iter().take(LINES) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "{fault}");
    }
    if let Some(more) = faults.len().checked_sub(LINES).filter(|more| *more > 0) {
        let _ = write!(text, "\n… and {more} more");
    }
    text
}

/// A schema that has been looked through and can be checked against.
#[derive(Debug)]
pub(crate) struct Validator {
    schema: Value,
    patterns: HashMap<String, Regex>,
    /// From the text of a `$ref` to the JSON pointer it stands for.
    references: HashMap<String, String>,
    /// Whether anything asks which properties and items were looked at.
    tracks: bool,
}

impl Validator {
    /// Prepares a schema.
    ///
    /// # Errors
    ///
    /// Why it cannot be honoured, with the JSON pointer of the place: another dialect, a reference that leaves the
    /// document or leads nowhere, a pattern that does not compile, a keyword whose value has the wrong type.
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        let mut survey = Survey::default();
        survey.schema(&schema, &mut String::new(), 0)?;
        let references = survey.resolve()?;
        Ok(Self {
            patterns: survey.patterns,
            references,
            tracks: survey.tracks,
            schema,
        })
    }

    /// Everything that is wrong with a value; nothing if it fits.
    pub(crate) fn check(&self, value: &Value) -> Vec<Fault> {
        self.run(&self.schema, value, &Place::Root)
    }

    /// Everything that is wrong with a value of one property of the root.
    pub(crate) fn check_property(&self, name: &str, value: &Value) -> Vec<Fault> {
        match self.schema.get("properties").and_then(|all| all.get(name)) {
            Some(schema) => self.run(schema, value, &Place::Key(&Place::Root, name)),
            None => Vec::new(),
        }
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    fn run(&self, schema: &Value, value: &Value, place: &Place<'_>) -> Vec<Fault> {
        let mut check = Check {
            validator: self,
            steps: STEPS,
            depth: DEPTH,
            exhausted: false,
        };
        let mut found = Vec::new();
        check.schema(schema, value, place, &mut found);
        if check.exhausted {
            return vec![Fault::new(place.pointer(), "too complex to be checked")];
        }
        found.into_iter().map(Found::into_fault).collect()
    }
}

/// Which properties and items some schema has looked at, for the `unevaluated…` keywords.
#[derive(Default)]
struct Seen<'v> {
    properties: HashSet<&'v str>,
    items: HashSet<usize>,
    all_properties: bool,
    all_items: bool,
}

impl Seen<'_> {
    fn add(&mut self, other: Self) {
        self.properties.extend(other.properties);
        self.items.extend(other.items);
        self.all_properties |= other.all_properties;
        self.all_items |= other.all_items;
    }
}

struct Check<'s> {
    validator: &'s Validator,
    steps: u32,
    depth: u32,
    exhausted: bool,
}

impl<'s> Check<'s> {
    /// Checks a value and says what was looked at. Only what is found counts as failure; `found` may hold more already.
    fn schema<'v>(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
        place: &Place<'_>,
        found: &mut Vec<Found>,
    ) -> Seen<'v> {
        if self.exhausted || !self.spend(1) {
            return Seen::default();
        }
        if self.depth == 0 {
            self.exhausted = true;
            return Seen::default();
        }
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                other(found, place, "is not allowed here".to_owned());
            }
            return Seen::default();
        };
        self.depth -= 1;
        let seen = self.keywords(keywords, value, place, found);
        self.depth += 1;
        seen
    }

    fn spend(&mut self, steps: usize) -> bool {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        if let Some(left) = self.steps.checked_sub(steps) {
            self.steps = left;
            true
        } else {
            self.exhausted = true;
            false
        }
    }

    /// Whether a value fits, without saying why not.
    fn fits<'v>(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
        place: &Place<'_>,
    ) -> Option<Seen<'v>> {
        let mut found = Vec::new();
        let seen = self.schema(schema, value, place, &mut found);
        found.is_empty().then_some(seen)
    }

    fn keywords<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        place: &Place<'_>,
        found: &mut Vec<Found>,
    ) -> Seen<'v> {
        let before = found.len();
        let mut seen = Seen::default();
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let validator = self.validator;
            let target = validator
                .references
                .get(reference)
                .and_then(|pointer| validator.schema.pointer(pointer));
            match target {
                Some(target) => seen.add(self.schema(target, value, place, found)),
                None => other(found, place, "cannot be checked".to_owned()),
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
            push(found, place, Cause::Type(names), value);
            // Nothing else said about a value of the wrong type would help.
            return seen;
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum") {
            self.spend(allowed.len());
            if !allowed.iter().any(|candidate| equal(candidate, value)) {
                let cause = Cause::Value {
                    allowed: allowed.clone(),
                    text: value.as_str().map(str::to_owned),
                };
                push(found, place, cause, value);
            }
        }
        if let Some(allowed) = keywords.get("const")
            && !equal(allowed, value)
        {
            let cause = Cause::Value {
                allowed: vec![allowed.clone()],
                text: value.as_str().map(str::to_owned),
            };
            push(found, place, cause, value);
        }
        match value {
            Value::Number(number) => numbers(keywords, number, place, found),
            Value::String(text) => self.text(keywords, text, place, found),
            Value::Array(items) => self.items(keywords, items, place, found, &mut seen),
            Value::Object(members) => self.members(keywords, members, place, found, &mut seen),
            Value::Null | Value::Bool(_) => {}
        }
        self.combinations(keywords, value, place, found, &mut seen);
        // Whether something was left over can be told only once everything else has been.
        if self.validator.tracks && found.len() == before {
            self.unevaluated(keywords, value, place, found, &mut seen);
        }
        seen
    }

    fn text(
        &mut self,
        keywords: &'s Map<String, Value>,
        text: &str,
        place: &Place<'_>,
        found: &mut Vec<Found>,
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

    fn items<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &'v [Value],
        place: &Place<'_>,
        found: &mut Vec<Found>,
        seen: &mut Seen<'v>,
    ) {
        let minimum = keywords.get("minItems").and_then(count);
        let maximum = keywords.get("maxItems").and_then(count);
        bounded(items.len(), minimum, maximum, "item", place, found);
        let prefix = keywords
            .get("prefixItems")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (index, (schema, item)) in prefix.iter().zip(items).enumerate() {
            self.schema(schema, item, &Place::Index(place, index), found);
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
                self.schema(schema, item, &Place::Index(place, index), found);
            }
            seen.all_items = true;
        }
        if let Some(schema) = keywords.get("contains") {
            let minimum = keywords.get("minContains").and_then(count).unwrap_or(1);
            let maximum = keywords.get("maxContains").and_then(count);
            let mut matching = 0;
            for (index, item) in items.iter().enumerate() {
                if self
                    .fits(schema, item, &Place::Index(place, index))
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
                        &Place::Index(place, index),
                        format!("{} is in the list already; items must differ", quote(item)),
                    );
                    break;
                }
            }
        }
    }

    fn members<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
        place: &Place<'_>,
        found: &mut Vec<Found>,
        seen: &mut Seen<'v>,
    ) {
        let minimum = keywords.get("minProperties").and_then(count);
        let maximum = keywords.get("maxProperties").and_then(count);
        bounded(members.len(), minimum, maximum, "property", place, found);
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        for name in keywords
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !members.contains_key(name) {
                other(
                    found,
                    place,
                    missing("property", name, properties.and_then(|all| all.get(name))),
                );
            }
        }
        for (name, member) in members {
            if found.len() >= FAULTS || self.exhausted {
                break;
            }
            let inner = Place::Key(place, name);
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
                    other(found, place, unknown("property", name, &names));
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

    fn combinations<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        place: &Place<'_>,
        found: &mut Vec<Found>,
        seen: &mut Seen<'v>,
    ) {
        for schema in keywords
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            seen.add(self.schema(schema, value, place, found));
        }
        if let Some(Value::Array(branches)) = keywords.get("anyOf") {
            self.choice(branches, false, value, place, found, seen);
        }
        if let Some(Value::Array(branches)) = keywords.get("oneOf") {
            self.choice(branches, true, value, place, found, seen);
        }
        if let Some(schema) = keywords.get("not")
            && self.fits(schema, value, place).is_some()
        {
            other(
                found,
                place,
                format!("{} is of a kind that is not allowed", quote(value)),
            );
        }
        if let Some(condition) = keywords.get("if") {
            let branch = match self.fits(condition, value, place) {
                Some(looked) => {
                    seen.add(looked);
                    keywords.get("then")
                }
                None => keywords.get("else"),
            };
            if let Some(schema) = branch {
                seen.add(self.schema(schema, value, place, found));
            }
        }
        if let (Some(Value::Object(schemas)), Value::Object(members)) =
            (keywords.get("dependentSchemas"), value)
        {
            for (name, schema) in schemas {
                if members.contains_key(name) {
                    seen.add(self.schema(schema, value, place, found));
                }
            }
        }
    }

    fn choice<'v>(
        &mut self,
        branches: &'s [Value],
        exactly_one: bool,
        value: &'v Value,
        place: &Place<'_>,
        found: &mut Vec<Found>,
        seen: &mut Seen<'v>,
    ) {
        let mut matching = 0_usize;
        let mut failed = Vec::new();
        for branch in branches {
            if self.exhausted {
                return;
            }
            let mut wrong = Vec::new();
            let looked = self.schema(branch, value, place, &mut wrong);
            if wrong.is_empty() {
                matching += 1;
                seen.add(looked);
                if !exactly_one && !self.validator.tracks {
                    return;
                }
            } else {
                failed.push(wrong);
            }
        }
        match matching {
            0 => explain_choice(failed, place, value, found),
            1 => {}
            _ if exactly_one => other(
                found,
                place,
                format!(
                    "fits {matching} of the {} forms, of which it must fit exactly one",
                    branches.len()
                ),
            ),
            _ => {}
        }
    }

    fn unevaluated<'v>(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        place: &Place<'_>,
        found: &mut Vec<Found>,
        seen: &mut Seen<'v>,
    ) {
        if let (Some(schema), Value::Object(members)) =
            (keywords.get("unevaluatedProperties"), value)
        {
            for (name, member) in members {
                if !seen.all_properties && !seen.properties.contains(name.as_str()) {
                    if schema == &Value::Bool(false) {
                        other(found, place, unknown("property", name, &[]));
                    } else {
                        self.schema(schema, member, &Place::Key(place, name), found);
                    }
                }
            }
            seen.all_properties = true;
        }
        if let (Some(schema), Value::Array(items)) = (keywords.get("unevaluatedItems"), value) {
            for (index, item) in items.iter().enumerate() {
                if !seen.all_items && !seen.items.contains(&index) {
                    self.schema(schema, item, &Place::Index(place, index), found);
                }
            }
            seen.all_items = true;
        }
    }
}

fn numbers(
    keywords: &Map<String, Value>,
    number: &Number,
    place: &Place<'_>,
    found: &mut Vec<Found>,
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
