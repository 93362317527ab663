//! Validates structured output against a tool's output schema.
//!
//! Results of `Json<T>` match the schema of `T` by construction, so they are not validated, with one exception: numbers
//! that JSON cannot represent are written as `null`, even if the schema requires a number. All other results are
//! validated, as are results that may have been modified after they were created.
//!
//! Specification: 2026-07-28, server/tools, "Output Schema"; TOOL-11 and TOOL-13 in `docs/requirements.md`.

use std::sync::OnceLock;

use mcp_schema::check::Validator;
use mcp_schema::explain::describe_faults;
use memchr::memmem;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::shape::structured::OutputRoot;
use crate::types::{CallToolResult, Tool};

/// The log target for findings about definitions. Only their author causes them, so the default log leaves out none.
pub(crate) const FINDINGS: &str = "mcp_runtime::definitions";

/// Data about a tool's structured output, except for the text of the output schema.
#[derive(Debug)]
pub(crate) struct OutputChecker {
    /// The value that the output schema describes.
    pub(crate) root: OutputRoot,
    /// `true` if every value of the tool's return type matches the schema, which is derived from that type.
    conforms: bool,
    /// `true` if the schema contains numbers that may have a fractional part.
    has_numbers: bool,
    /// The validator, created on first use. `None` if the schema cannot be used.
    validator: OnceLock<Option<Box<Validator>>>,
}

impl OutputChecker {
    /// Creates the value for a function, whose schema is derived from its return type.
    pub(crate) fn for_derived_schema(schema: Option<&RawValue>, conforms: bool) -> Self {
        let finds = |schema: &RawValue| memmem::find(schema.get().as_bytes(), b"\"number\"");
        Self {
            root: OutputRoot::from_schema(schema),
            conforms,
            has_numbers: schema.and_then(finds).is_some(),
            validator: OnceLock::new(),
        }
    }

    /// Creates the value for a closure, whose schema was written by its author.
    pub(crate) fn for_written_schema(
        schema: Option<&RawValue>,
        validator: Option<Validator>,
    ) -> Self {
        Self {
            validator: OnceLock::from(validator.map(Box::new)),
            ..Self::for_derived_schema(schema, false)
        }
    }

    /// If a result does not match the schema, returns the reason. `was_touched` is `true` if other code may have
    /// modified the result.
    pub(crate) fn output_problem(
        &self,
        tool: &Tool,
        result: &CallToolResult,
        was_touched: bool,
    ) -> Option<String> {
        let schema = tool.output_schema.as_deref()?;
        if result.is_error {
            return None;
        }
        let Some(structured) = &result.structured_content else {
            return Some(
                "the tool has an output schema, but the result has no structured content"
                    .to_owned(),
            );
        };
        let text = structured.get();
        let fits = self.conforms && !was_touched;
        if fits && !(self.has_numbers && has_null(text)) {
            return None;
        }
        self.check_json(tool, schema, text)
    }

    #[cold]
    fn check_json(&self, tool: &Tool, schema: &RawValue, text: &str) -> Option<String> {
        let made = self.validator.get_or_init(|| {
            let made = serde_json::from_str(schema.get()).map_err(|error| error.to_string());
            let made = made.and_then(Validator::new).inspect_err(|problem| {
                let tool = &tool.name;
                tracing::warn!(
                    target: FINDINGS,
                    tool,
                    problem,
                    "results are not validated against the output schema"
                );
            });
            made.ok().map(Box::new)
        });
        let validator = made.as_deref()?;
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("the structured content cannot be read: {error}")),
        };
        let faults = validator.check_output(&value, text.len());
        if faults.is_empty() {
            return None;
        }
        let mut problem = describe_faults(&faults);
        if self.has_numbers && has_null(text) {
            problem += "\nNaN and infinity, which JSON cannot represent, are written as null";
        }
        Some(problem)
    }
}

fn has_null(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"null").is_some()
}
