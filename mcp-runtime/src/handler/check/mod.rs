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

mod evaluate;
mod explain;
mod number;
mod pattern;
mod survey;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;
use std::fmt::Write as _;

use regex_lite::Regex;
use serde_json::Value;

use evaluate::Check;
use explain::{Found, Place};
pub(crate) use explain::{missing, push_token, quote, unknown};
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
    /// What it is about, for those who have to tell faults apart.
    pub(crate) about: About,
}

/// What a fault is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum About {
    /// A property of this name is missing.
    Missing(String),
    /// A property is there that nothing knows.
    Unknown,
    /// The value itself.
    #[default]
    Value,
}

impl Fault {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
            about: About::Value,
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

    /// Everything that is wrong with the output of a tool, whose JSON is this long. It may be as large as it likes, because
    /// nobody but the author makes it.
    pub(crate) fn check_output(&self, value: &Value, length: usize) -> Vec<Fault> {
        /// Most places of a schema that are looked at for each byte.
        const STEPS_A_BYTE: u32 = 64;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let steps = STEPS.saturating_add(length.saturating_mul(STEPS_A_BYTE));
        self.run_with(steps, false, &self.schema, value, &Place::Root)
    }

    /// Everything that is wrong with the arguments of a call.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Vec<Fault> {
        self.run(&self.schema, arguments, &Place::Arguments)
    }

    /// Everything that is wrong with a value of one argument, of which this is the schema.
    pub(crate) fn check_argument(&self, name: &str, value: &Value) -> Vec<Fault> {
        self.run(&self.schema, value, &Place::Key(&Place::Arguments, name))
    }

    /// Everything that is wrong with a value of one property of the root.
    pub(crate) fn check_property(&self, name: &str, value: &Value) -> Vec<Fault> {
        match self.schema.get("properties").and_then(|all| all.get(name)) {
            Some(schema) => self.run(schema, value, &Place::Key(&Place::Root, name)),
            None => Vec::new(),
        }
    }

    /// Everything that is wrong with a value of one property of the root, or with the arguments as a whole, where `null` is the same
    /// as leaving a property out.
    pub(crate) fn explain_sent(&self, name: Option<&str>, value: &Value) -> Vec<Fault> {
        let Some(name) = name else {
            return self.run_with(STEPS, true, &self.schema, value, &Place::Arguments);
        };
        match self.schema.get("properties").and_then(|all| all.get(name)) {
            Some(schema) => {
                self.run_with(STEPS, true, schema, value, &Place::Key(&Place::Root, name))
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    fn run(&self, schema: &Value, value: &Value, place: &Place<'_>) -> Vec<Fault> {
        self.run_with(STEPS, false, schema, value, place)
    }

    fn run_with(
        &self,
        steps: u32,
        null_is_absent: bool,
        schema: &Value,
        value: &Value,
        place: &Place<'_>,
    ) -> Vec<Fault> {
        let mut check = Check {
            validator: self,
            steps,
            depth: DEPTH,
            exhausted: false,
            null_is_absent,
        };
        let mut found = Vec::new();
        check.schema(schema, value, place, &mut found);
        if check.exhausted {
            return vec![Fault::new(place.pointer(), "too complex to be checked")];
        }
        found.into_iter().map(Found::into_fault).collect()
    }
}
