//! Checks JSON against a schema and explains every problem it finds.
//!
//! Implements JSON Schema 2020-12 without network access: all assertions and applicators of the dialect are supported,
//! but references are followed only within the document. Unsupported schemas are rejected when the validator is
//! created, rather than ignored when it runs. As is the default in this dialect, `format` is only an annotation. The
//! amount of work is bounded so that neither a hostile value nor a recursive schema can keep the validator busy
//! indefinitely.
//!
//! [`generate`](crate::generate) creates the schemas, and [`explain`](crate::explain) writes the messages that describe
//! problems. Callers decide how to respond to them.
//!
//! Specification: <https://json-schema.org/draft/2020-12>.

mod bounds;
mod choice;
mod equality;
mod evaluate;
mod examined;
mod found;
mod survey;
#[cfg(test)]
mod tests;
mod values;

use serde_json::Value;

use crate::explain::{Fault, merge_misspelled};
use bounds::{DEPTH, STEPS};
use evaluate::SchemaCheck;
use examined::ExaminedSchema;
use found::{UnwordedFault, ValuePath};
use survey::SchemaExamination;

/// A schema that has been examined and can be used to check values.
#[derive(Debug)]
pub struct Validator(ExaminedSchema);

impl Validator {
    /// Examines a schema.
    ///
    /// # Errors
    ///
    /// Returns an error with a JSON pointer to the problem if the schema uses another dialect, or if it contains a
    /// reference that leaves the document or has no target, a pattern that does not compile, or a keyword whose value
    /// has the wrong type.
    pub fn new(schema: Value) -> Result<Self, String> {
        let mut examination = SchemaExamination::default();
        examination.examine_schema(&schema, &mut String::new(), 0)?;
        let references = examination.resolve_references()?;
        Ok(Self(ExaminedSchema {
            patterns: examination.patterns,
            references,
            tracks: examination.tracks,
            schema,
        }))
    }

    /// Returns all problems found in a value.
    #[must_use]
    pub fn check(&self, value: &Value) -> Vec<Fault> {
        self.run(&self.0.schema, value, &ValuePath::Root)
    }

    /// Returns all problems found in a tool's output, given the length of its JSON. The step budget grows with the
    /// length, because only the tool's author controls the output.
    #[must_use]
    pub fn check_output(&self, value: &Value, length: usize) -> Vec<Fault> {
        /// Maximum number of additional steps for each byte.
        const STEPS_A_BYTE: u32 = 64;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let steps = STEPS.saturating_add(length.saturating_mul(STEPS_A_BYTE));
        self.run_with(steps, false, &self.0.schema, value, &ValuePath::Root)
    }

    /// Returns all problems found in a call's arguments.
    #[must_use]
    pub fn check_arguments(&self, arguments: &Value) -> Vec<Fault> {
        self.run(&self.0.schema, arguments, &ValuePath::Arguments)
    }

    /// Returns all problems found in the value of a top-level property.
    #[must_use]
    pub fn check_property(&self, name: &str, value: &Value) -> Vec<Fault> {
        match self
            .0
            .schema
            .get("properties")
            .and_then(|all| all.get(name))
        {
            Some(schema) => self.run(schema, value, &ValuePath::Key(&ValuePath::Root, name)),
            None => Vec::new(),
        }
    }

    /// Examines the value of a top-level property, or the arguments as a whole if `name` is `None`, as a client sent it.
    /// `null` counts as absent for optional properties.
    #[must_use]
    pub fn examine_sent(&self, name: Option<&str>, value: &Value) -> SentValue {
        let Some(name) = name else {
            return self.examine(STEPS, true, &self.0.schema, value, &ValuePath::Arguments);
        };
        match self
            .0
            .schema
            .get("properties")
            .and_then(|all| all.get(name))
        {
            Some(schema) => self.examine(
                STEPS,
                true,
                schema,
                value,
                &ValuePath::Key(&ValuePath::Root, name),
            ),
            None => SentValue::default(),
        }
    }

    /// Returns the schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    fn run(&self, schema: &Value, value: &Value, path: &ValuePath<'_>) -> Vec<Fault> {
        self.run_with(STEPS, false, schema, value, path)
    }

    fn run_with(
        &self,
        steps: u32,
        null_is_absent: bool,
        schema: &Value,
        value: &Value,
        path: &ValuePath<'_>,
    ) -> Vec<Fault> {
        let examined = self.examine(steps, null_is_absent, schema, value, path);
        examined.faults
    }

    fn examine(
        &self,
        steps: u32,
        null_is_absent: bool,
        schema: &Value,
        value: &Value,
        path: &ValuePath<'_>,
    ) -> SentValue {
        let mut check = SchemaCheck {
            examined: &self.0,
            steps,
            depth: DEPTH,
            exhausted: false,
            null_is_absent,
            absent: Vec::new(),
        };
        let mut found = Vec::new();
        check.check_schema(schema, value, path, &mut found);
        if check.exhausted {
            let fault = Fault::new(path.pointer(), "too complex to be checked");
            return SentValue {
                faults: vec![fault],
                absent: Vec::new(),
            };
        }
        let mut faults = found.into_iter().map(UnwordedFault::into_fault).collect();
        merge_misspelled(&mut faults);
        let absent = check.absent;
        SentValue { faults, absent }
    }
}

/// What [`Validator::examine_sent`] finds in a value.
#[derive(Debug, Default)]
pub struct SentValue {
    /// All problems.
    pub faults: Vec<Fault>,
    /// The JSON pointers of the members that count as absent, because they are `null` and optional.
    pub absent: Vec<String>,
}
