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

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use crate::handler::suggest::closest;

/// The dialect that is spoken; a schema without `$schema` is taken to speak it.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Most places of a schema that are looked at for one value.
const STEPS: u32 = 500_000;
/// Deepest nesting of schemas while a value is checked.
const DEPTH: u32 = 192;
/// Most faults that are collected; more would help nobody.
const FAULTS: usize = 100;
/// Most lines [`describe`] writes.
const LINES: usize = 20;
/// Longest piece of a value that is quoted back, in characters.
const QUOTED: usize = 60;
/// Most allowed values that are listed.
const LISTED: usize = 12;
/// Longest pattern, in bytes, and most memory one may compile to.
const PATTERN: usize = 4096;

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
        let references = survey.resolve(&schema)?;
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

/// What is gathered while a schema is looked through for the first time.
#[derive(Default)]
struct Survey {
    patterns: HashMap<String, Regex>,
    anchors: HashMap<String, String>,
    /// Each reference and where it stands.
    references: Vec<(String, String)>,
    root_id: Option<String>,
    tracks: bool,
    count: usize,
}

/// Most subschemas in one schema.
const SUBSCHEMAS: usize = 20_000;

impl Survey {
    fn schema(&mut self, schema: &Value, at: &mut String, depth: u32) -> Result<(), String> {
        self.count = self.count.saturating_add(1);
        if depth > DEPTH || self.count > SUBSCHEMAS {
            return Err(problem(at, "the schema is too deep or too large"));
        }
        let object = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(object) => object,
            other => {
                let message = format!("a schema is an object or a boolean, not {}", quote(other));
                return Err(problem(at, &message));
            }
        };
        for (keyword, value) in object {
            let length = at.len();
            push_token(at, keyword);
            self.keyword(keyword, value, at, depth)?;
            at.truncate(length);
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        at: &mut String,
        depth: u32,
    ) -> Result<(), String> {
        let wrong = |expected: &str| {
            Err(problem(
                at,
                &format!("expected {expected}, found {}", quote(value)),
            ))
        };
        match keyword {
            "$schema" => match value.as_str() {
                Some(dialect) if dialect.trim_end_matches('#') == DIALECT => Ok(()),
                _ => wrong(&format!(
                    "\"{DIALECT}\", the only dialect that is understood"
                )),
            },
            "$id" => match value.as_str() {
                Some(id) if depth == 0 => {
                    self.root_id = Some(id.trim_end_matches('#').to_owned());
                    Ok(())
                }
                Some(_) => Err(problem(at, "`$id` is understood at the root only")),
                None => wrong("a string"),
            },
            "$ref" => match value.as_str() {
                Some(reference) => {
                    self.references.push((reference.to_owned(), at.clone()));
                    Ok(())
                }
                None => wrong("a string"),
            },
            "$anchor" => match value.as_str() {
                Some(anchor) => {
                    let home = at.rsplit_once('/').map_or("", |(home, _)| home);
                    match self.anchors.insert(anchor.to_owned(), home.to_owned()) {
                        None => Ok(()),
                        Some(_) => Err(problem(at, "this anchor is used twice")),
                    }
                }
                None => wrong("a string"),
            },
            "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" => Err(
                problem(at, "dynamic references are not supported; use `$ref`"),
            ),
            "type" => {
                let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                match value {
                    Value::Array(names) if !names.is_empty() && names.iter().all(known) => Ok(()),
                    name if known(name) => Ok(()),
                    _ => wrong("the name of a type or a list of such names"),
                }
            }
            "enum" => {
                if value.is_array() {
                    Ok(())
                } else {
                    wrong("a list")
                }
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                if value.is_number() {
                    Ok(())
                } else {
                    wrong("a number")
                }
            }
            "multipleOf" => match value.as_f64() {
                Some(number) if number > 0.0 => Ok(()),
                _ => wrong("a number above 0"),
            },
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => {
                if count(value).is_some() {
                    Ok(())
                } else {
                    wrong("a whole number from 0")
                }
            }
            "uniqueItems" => {
                if value.is_boolean() {
                    Ok(())
                } else {
                    wrong("a boolean")
                }
            }
            "required" => {
                if value
                    .as_array()
                    .is_some_and(|names| names.iter().all(Value::is_string))
                {
                    Ok(())
                } else {
                    wrong("a list of names")
                }
            }
            "dependentRequired" => {
                let names = |value: &Value| {
                    value
                        .as_array()
                        .is_some_and(|names| names.iter().all(Value::is_string))
                };
                if value
                    .as_object()
                    .is_some_and(|object| object.values().all(names))
                {
                    Ok(())
                } else {
                    wrong("an object of lists of names")
                }
            }
            "pattern" => match value.as_str() {
                Some(pattern) => self.pattern(pattern, at),
                None => wrong("a regular expression"),
            },
            "not"
            | "if"
            | "then"
            | "else"
            | "items"
            | "contains"
            | "additionalProperties"
            | "propertyNames" => self.schema(value, at, depth.saturating_add(1)),
            "unevaluatedProperties" | "unevaluatedItems" => {
                self.tracks = true;
                self.schema(value, at, depth.saturating_add(1))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value.as_array() {
                Some(schemas) if !schemas.is_empty() => {
                    for (index, schema) in schemas.iter().enumerate() {
                        let length = at.len();
                        let _ = write!(at, "/{index}");
                        self.schema(schema, at, depth.saturating_add(1))?;
                        at.truncate(length);
                    }
                    Ok(())
                }
                _ => wrong("a list of schemas, not empty"),
            },
            "$defs" | "definitions" | "properties" | "patternProperties" | "dependentSchemas" => {
                let Some(schemas) = value.as_object() else {
                    return wrong("an object of schemas");
                };
                for (name, schema) in schemas {
                    let length = at.len();
                    push_token(at, name);
                    if keyword == "patternProperties" {
                        self.pattern(name, at)?;
                    }
                    self.schema(schema, at, depth.saturating_add(1))?;
                    at.truncate(length);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn pattern(&mut self, pattern: &str, at: &str) -> Result<(), String> {
        if !self.patterns.contains_key(pattern) {
            let regex = compile(pattern).map_err(|error| problem(at, &error))?;
            self.patterns.insert(pattern.to_owned(), regex);
        }
        Ok(())
    }

    fn resolve(&self, root: &Value) -> Result<HashMap<String, String>, String> {
        let mut resolved = HashMap::new();
        for (reference, at) in &self.references {
            if resolved.contains_key(reference) {
                continue;
            }
            let local = self
                .root_id
                .as_deref()
                .and_then(|id| reference.strip_prefix(id))
                .unwrap_or(reference);
            let fragment = match local.strip_prefix('#') {
                Some(fragment) => fragment,
                None if local.is_empty() => "",
                None => {
                    let message = format!(
                        "reference \"{reference}\" leaves the document; only references within it are followed"
                    );
                    return Err(problem(at, &message));
                }
            };
            let fragment = percent_decode(fragment)
                .ok_or_else(|| problem(at, &format!("reference \"{reference}\" is not valid")))?;
            let pointer = if fragment.is_empty() || fragment.starts_with('/') {
                Some(fragment).filter(|pointer| {
                    root.pointer(pointer)
                        .is_some_and(|value| value.is_object() || value.is_boolean())
                })
            } else {
                self.anchors.get(&fragment).cloned()
            };
            let Some(pointer) = pointer else {
                return Err(problem(
                    at,
                    &format!("reference \"{reference}\" leads nowhere"),
                ));
            };
            resolved.insert(reference.clone(), pointer);
        }
        Ok(resolved)
    }
}

fn problem(at: &str, message: &str) -> String {
    format!("{}: {message}", if at.is_empty() { "/" } else { at })
}

fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    super::template::decode(text)
}

/// Compiles a pattern as JSON Schema means it: found anywhere, Unicode scalar values, linear time.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN {
        return Err(format!("the pattern is longer than {PATTERN} bytes"));
    }
    regex_lite::RegexBuilder::new(&translate(pattern))
        .size_limit(1 << 20)
        .build()
        .map_err(|error| format!("pattern `{pattern}` is not supported: {error}"))
}

/// From ECMA-262 to what the expression engine reads, where the two spell the same thing differently.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('/') => out.push('/'),
                Some('-') => out.push_str("\\-"),
                Some('u') if characters.peek() != Some(&'{') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let _ = write!(out, "\\x{{{digits}}}");
                }
                Some('u') => out.push_str("\\x"),
                Some('c') => match characters.next() {
                    Some(control) if control.is_ascii_alphabetic() => {
                        let _ = write!(out, "\\x{{{:x}}}", u32::from(control) & 0x1f);
                    }
                    other => {
                        out.push_str("\\c");
                        out.extend(other);
                    }
                },
                // A word of ECMA-262 is ASCII, and so it is here; its white space has members beyond ASCII.
                Some('s') if !in_class => out.push_str(r"[\s\x{a0}\x{feff}\x{2028}\x{2029}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"),
                Some('S') if !in_class => out.push_str(r"[^\s\x{a0}\x{feff}\x{2028}\x{2029}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"),
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if characters.peek() == Some(&'^') {
                    characters.next();
                    out.push('^');
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Where a value stands, as a list that lives on the stack and is written out only for a fault.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(out);
                push_token(out, key);
            }
            Self::Index(parent, index) => {
                parent.write(out);
                let _ = write!(out, "/{index}");
            }
        }
    }
}

/// Appends one reference token of a JSON pointer.
pub(crate) fn push_token(out: &mut String, token: &str) {
    out.push('/');
    for character in token.chars() {
        match character {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            other => out.push(other),
        }
    }
}

/// A fault before it is put into words, so that the branches of a choice can be compared and merged.
struct Found {
    pointer: String,
    cause: Cause,
    received: String,
}

enum Cause {
    /// None of these types.
    Type(Vec<String>),
    /// None of these values; `closest` is the text that was received, if it was text.
    Value {
        allowed: Vec<Value>,
        text: Option<String>,
    },
    /// Anything else, in words.
    Other(String),
}

impl Found {
    fn into_fault(self) -> Fault {
        let message = match self.cause {
            Cause::Other(message) => message,
            Cause::Type(expected) => {
                format!("expected {}, received {}", either(&expected), self.received)
            }
            Cause::Value { allowed, text } => {
                unknown_value(&allowed, text.as_deref(), &self.received)
            }
        };
        Fault {
            pointer: self.pointer,
            message,
        }
    }
}

fn unknown_value(allowed: &[Value], text: Option<&str>, received: &str) -> String {
    let names = allowed.iter().filter_map(Value::as_str);
    if let Some(name) = text.and_then(|text| closest(text, names)) {
        return format!("unknown value {received}; did you mean \"{name}\"?");
    }
    if let [only] = allowed {
        return format!("expected {}, received {received}", quote(only));
    }
    let mut listed: Vec<String> = allowed.iter().take(LISTED).map(quote).collect();
    if let Some(more) = allowed.len().checked_sub(LISTED).filter(|more| *more > 0) {
        listed.push(format!("{more} more"));
    }
    format!("unknown value {received}; allowed: {}", listed.join(", "))
}

fn either(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A value as JSON, cut to a sensible length.
pub(crate) fn quote(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().nth(QUOTED).is_some() => {
            let start: String = text.chars().take(QUOTED).collect();
            format!("{}…", Value::String(start))
        }
        scalar => scalar.to_string(),
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
        match self
            .steps
            .checked_sub(u32::try_from(steps).unwrap_or(u32::MAX))
        {
            Some(left) => {
                self.steps = left;
                true
            }
            None => {
                self.exhausted = true;
                false
            }
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

/// Says what is wrong with a value that fits no branch: the types or values of all of them, or what the closest lacks.
fn explain_choice(
    mut failed: Vec<Vec<Found>>,
    place: &Place<'_>,
    value: &Value,
    found: &mut Vec<Found>,
) {
    let pointer = place.pointer();
    // A null branch says no more than that the value may be left out.
    if failed.len() > 1 {
        failed.retain(|wrong| !matches!(wrong.as_slice(), [Found { cause: Cause::Type(names), .. }] if names.iter().all(|name| name == "null")));
    }
    let wrong_type = |wrong: &[Found]| matches!(wrong, [Found { cause: Cause::Type(_), pointer: at, .. }] if *at == pointer);
    if failed.iter().all(|wrong| wrong_type(wrong)) {
        let mut names: Vec<String> = Vec::new();
        for cause in failed.into_iter().flatten().map(|found| found.cause) {
            if let Cause::Type(more) = cause {
                for name in more {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        push(found, place, Cause::Type(names), value);
        return;
    }
    failed.retain(|wrong| !wrong_type(wrong));
    // The tag of a tagged union: if every branch misses it at the same place, name them all.
    let tag = |wrong: &[Found]| {
        wrong.iter().find_map(|found| {
            matches!(found.cause, Cause::Value { .. }).then(|| found.pointer.clone())
        })
    };
    let first_tag = failed.first().and_then(|wrong| tag(wrong));
    if failed.len() > 1 && first_tag.is_some() && failed.iter().all(|wrong| tag(wrong) == first_tag)
    {
        let mut merged: Option<Found> = None;
        for item in failed.into_iter().flatten() {
            if Some(&item.pointer) != first_tag.as_ref() {
                continue;
            }
            match (&mut merged, item) {
                (
                    Some(Found {
                        cause: Cause::Value { allowed, .. },
                        ..
                    }),
                    Found {
                        cause: Cause::Value { allowed: more, .. },
                        ..
                    },
                ) => allowed.extend(more),
                (
                    none @ None,
                    item @ Found {
                        cause: Cause::Value { .. },
                        ..
                    },
                ) => *none = Some(item),
                _ => {}
            }
        }
        found.extend(merged);
        return;
    }
    // Otherwise the branch whose tag fits, and of those the one with the least to change.
    let forms = failed.len();
    let best = failed
        .into_iter()
        .min_by_key(|wrong| (tag(wrong).is_some(), wrong.len()));
    for mut item in best.into_iter().flatten() {
        if forms > 1
            && item.pointer == pointer
            && let Cause::Other(message) = &mut item.cause
        {
            message.push_str(&format!(" (in the closest of {forms} allowed forms)"));
        }
        if found.len() < FAULTS {
            found.push(item);
        }
    }
}

fn push(found: &mut Vec<Found>, place: &Place<'_>, cause: Cause, value: &Value) {
    if found.len() < FAULTS {
        found.push(Found {
            pointer: place.pointer(),
            cause,
            received: quote(value),
        });
    }
}

fn other(found: &mut Vec<Found>, place: &Place<'_>, message: String) {
    push(found, place, Cause::Other(message), &Value::Null);
}

/// How to say that something required is not there.
pub(crate) fn missing(what: &str, name: &str, schema: Option<&Value>) -> String {
    let mut text = format!("missing {what} `{name}`");
    let Some(schema) = schema else { return text };
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let listed: Vec<String> = allowed.iter().take(LISTED).map(quote).collect();
        let _ = write!(text, "; allowed: {}", listed.join(", "));
        if allowed.len() > LISTED {
            let _ = write!(text, ", {} more", allowed.len() - LISTED);
        }
    } else if let Some(name) = schema.get("type").and_then(Value::as_str) {
        let _ = write!(text, "; expected {name}");
    }
    text
}

/// How to say that nothing of this name is known.
pub(crate) fn unknown(what: &str, name: &str, names: &[&str]) -> String {
    let shown = quote_name(name);
    if let Some(suggestion) = closest(name, names.iter().copied()) {
        return format!("unknown {what} `{shown}`; did you mean `{suggestion}`?");
    }
    let mut text = format!("unknown {what} `{shown}`");
    if !names.is_empty() && names.len() <= LISTED {
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(text, "; known: {}", listed.join(", "));
    }
    text
}

/// A name that a peer chose, cut to a sensible length.
fn quote_name(name: &str) -> String {
    let mut shown: String = name
        .chars()
        .take(QUOTED)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

fn bounded(
    size: usize,
    minimum: Option<usize>,
    maximum: Option<usize>,
    unit: &str,
    place: &Place<'_>,
    found: &mut Vec<Found>,
) {
    if minimum.is_none_or(|minimum| size >= minimum)
        && maximum.is_none_or(|maximum| size <= maximum)
    {
        return;
    }
    let allowed = match (minimum, maximum) {
        (Some(minimum), Some(maximum)) if minimum == maximum => format!("exactly {minimum}"),
        (Some(minimum), Some(maximum)) => format!("{minimum} to {maximum}"),
        (Some(minimum), None) => format!("at least {minimum}"),
        (_, Some(maximum)) => format!("at most {maximum}"),
        (None, None) => return,
    };
    let unit = match (unit, size) {
        (unit, 1) => unit.to_owned(),
        ("property", _) => "properties".to_owned(),
        (unit, _) => format!("{unit}s"),
    };
    other(found, place, format!("{size} {unit}; allowed: {allowed}"));
}

fn numbers(
    keywords: &Map<String, Value>,
    number: &Number,
    place: &Place<'_>,
    found: &mut Vec<Found>,
) {
    let bound = |name: &str| match keywords.get(name) {
        Some(Value::Number(bound)) => Some(bound),
        _ => None,
    };
    let cases: [(&str, fn(Ordering) -> bool, &str); 4] = [
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

/// A keyword that counts something. Whole numbers may be written with a fraction of zero.
fn count(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else {
        return None;
    };
    match whole(number) {
        Some(whole) => usize::try_from(whole).ok(),
        None => None,
    }
}

/// The number as an integer, if it is one.
pub(crate) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i128() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    // 2^100 is far beyond what any integer type of ours holds and converts without loss.
    if float.fract() == 0.0 && float.abs() < 1.267_650_600_228_229_4e30 {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "whole and within range, just checked"
        )]
        return Some(float as i128);
    }
    None
}

fn compare(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (
        a.as_f64().unwrap_or(f64::NAN),
        b.as_f64().unwrap_or(f64::NAN),
    );
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn is_multiple(number: &Number, divisor: &Number) -> bool {
    if let (Some(number), Some(divisor)) = (whole(number), whole(divisor)) {
        return divisor != 0 && number % divisor == 0;
    }
    if let (Some((number, scale)), Some((divisor, other))) = (decimal(number), decimal(divisor)) {
        let common = scale.max(other);
        let raise = |mantissa: i128, scale: u32| {
            10_i128
                .checked_pow(common.checked_sub(scale)?)
                .and_then(|factor| mantissa.checked_mul(factor))
        };
        if let (Some(number), Some(divisor)) = (raise(number, scale), raise(divisor, other)) {
            return divisor != 0 && number % divisor == 0;
        }
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / divisor.as_f64().unwrap_or(f64::NAN);
    quotient.is_finite() && quotient.fract() == 0.0
}

/// A number as a whole number divided by a power of ten, as it is written.
fn decimal(number: &Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    match u32::try_from(scale) {
        Ok(scale) => Some((digits, scale)),
        Err(_) => Some((
            10_i128
                .checked_pow(scale.unsigned_abs())?
                .checked_mul(digits)?,
            0,
        )),
    }
}

fn is_of_type(expected: &Value, value: &Value) -> bool {
    match expected {
        Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
        Value::String(name) => match (name.as_str(), value) {
            ("null", Value::Null)
            | ("boolean", Value::Bool(_))
            | ("number", Value::Number(_))
            | ("string", Value::String(_))
            | ("array", Value::Array(_))
            | ("object", Value::Object(_)) => true,
            ("integer", Value::Number(number)) => {
                whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Equality as JSON Schema has it: numbers by value, members in any order.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// A text that is the same for equal values and for no others.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match whole(number) {
            Some(whole) => {
                let _ = write!(out, "{whole}");
            }
            None => {
                let _ = write!(out, "{number}");
            }
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                let _ = write!(out, "{name:?}:");
                if let Some(member) = members.get(name) {
                    canonical(member, out);
                }
                out.push(',');
            }
            out.push('}');
        }
        Value::String(text) => {
            let _ = write!(out, "{text:?}");
        }
        Value::Null | Value::Bool(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

#[cfg(test)]
mod tests;
