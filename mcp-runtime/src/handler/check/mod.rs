//! Checks JSON against a schema and explains everything that is wrong with it.
//!
//! JSON Schema 2020-12 without network access: all assertions and applicators of the dialect, with references only within
//! the document. Unsupported schemas are rejected when the validator is created, never ignored when it runs. `format` is an
//! annotation, the default of the dialect. Work is bounded, so neither a hostile value nor a recursive schema can keep the
//! validator busy.
//!
//! [`schema`](super::schema) creates the schemas; callers decide what to do about faults.
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
use explain::{RawFault, ValuePath};
pub(crate) use explain::{missing, push_token, quote, unknown};
pub(crate) use pattern::compile;
use survey::Survey;

/// Maximum number of steps for one value: one per schema visited, and more for long strings and large lists.
const STEPS: u32 = 500_000;

/// Maximum nesting of schemas while a value is checked.
const DEPTH: u32 = 192;

/// Maximum number of collected faults; more would not help.
const FAULTS: usize = 100;

/// Maximum number of lines in the result of [`describe`].
const LINES: usize = 20;

/// One fault in the arguments of a call, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// JSON pointer to the value; empty for the argument object itself.
    pub pointer: String,
    /// The received value, the allowed values, and a suggestion.
    pub message: String,
    /// The subject of the fault, for code that has to tell faults apart.
    pub(crate) about: About,
}

/// The subject of a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum About {
    /// A property of this name is missing.
    Missing(String),
    /// A property is unknown.
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

/// Returns the text for the model: one line per fault, limited to the first twenty.
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

/// A schema that has been examined and is ready for checks.
#[derive(Debug)]
pub(crate) struct Validator {
    schema: Value,
    patterns: HashMap<String, Regex>,
    /// The JSON pointer of each `$ref`, by its text.
    references: HashMap<String, String>,
    /// `true` if a keyword needs to know which properties and items have been evaluated.
    tracks: bool,
}

impl Validator {
    /// Examines a schema.
    ///
    /// # Errors
    ///
    /// An unsupported schema, with the JSON pointer of the problem: another dialect, a reference that leaves the document
    /// or points to nothing, a pattern that does not compile, a keyword whose value has the wrong type.
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

    /// Returns all faults of a value.
    pub(crate) fn check(&self, value: &Value) -> Vec<Fault> {
        self.run(&self.schema, value, &ValuePath::Root)
    }

    /// Returns all faults in the output of a tool, given the length of its JSON. The budget of steps grows with the length,
    /// because only the author controls the output.
    pub(crate) fn check_output(&self, value: &Value, length: usize) -> Vec<Fault> {
        /// Maximum number of additional steps per byte.
        const STEPS_A_BYTE: u32 = 64;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let steps = STEPS.saturating_add(length.saturating_mul(STEPS_A_BYTE));
        self.run_with(steps, false, &self.schema, value, &ValuePath::Root)
    }

    /// Returns all faults in the arguments of a call.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Vec<Fault> {
        self.run(&self.schema, arguments, &ValuePath::Arguments)
    }

    /// Returns all faults in the value of one argument, of which this is the schema.
    pub(crate) fn check_argument(&self, name: &str, value: &Value) -> Vec<Fault> {
        self.run(
            &self.schema,
            value,
            &ValuePath::Key(&ValuePath::Arguments, name),
        )
    }

    /// Returns all faults in the value of one property of the root.
    pub(crate) fn check_property(&self, name: &str, value: &Value) -> Vec<Fault> {
        match self.schema.get("properties").and_then(|all| all.get(name)) {
            Some(schema) => self.run(schema, value, &ValuePath::Key(&ValuePath::Root, name)),
            None => Vec::new(),
        }
    }

    /// Returns all faults in the value of one property of the root, or in the arguments as a whole, where `null` counts as
    /// an absent optional property.
    pub(crate) fn explain_sent(&self, name: Option<&str>, value: &Value) -> Vec<Fault> {
        let Some(name) = name else {
            return self.run_with(STEPS, true, &self.schema, value, &ValuePath::Arguments);
        };
        match self.schema.get("properties").and_then(|all| all.get(name)) {
            Some(schema) => self.run_with(
                STEPS,
                true,
                schema,
                value,
                &ValuePath::Key(&ValuePath::Root, name),
            ),
            None => Vec::new(),
        }
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    fn run(&self, schema: &Value, value: &Value, place: &ValuePath<'_>) -> Vec<Fault> {
        self.run_with(STEPS, false, schema, value, place)
    }

    fn run_with(
        &self,
        steps: u32,
        null_is_absent: bool,
        schema: &Value,
        value: &Value,
        place: &ValuePath<'_>,
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
        found.into_iter().map(RawFault::into_fault).collect()
    }
}
