//! What a tool promises of its structured output, and whether a result keeps it.
//!
//! Results of `Json<T>` fit the schema of `T` by construction, so they are not compared with it: only a number that JSON does
//! not have is written as `null` where a number is promised. What anybody else has made, or changed since, is compared.
//!
//! Specification: 2026-07-28, server/tools, "Output Schema"; TOOL-11 and TOOL-13 in `docs/requirements.md`.

use std::sync::OnceLock;

use memchr::memmem;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::handler::check::{Validator, describe};
use crate::protocol::structured::OutputRoot;
use crate::types::{CallToolResult, Tool};

/// What a tool promises, besides the text of its output schema.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// What the output schema describes.
    pub(crate) root: OutputRoot,
    /// Whether the schema is derived from what the tool returns.
    is_derived: bool,
    /// Whether it speaks of numbers that may have fractions.
    has_numbers: bool,
    /// Made when it is first needed; nothing if it cannot be.
    validator: OnceLock<Option<Box<Validator>>>,
}

impl Outputs {
    /// Of a function, whose schema comes from its return type.
    pub(crate) fn derived(schema: Option<&RawValue>) -> Self {
        let finds = |schema: &RawValue| memmem::find(schema.get().as_bytes(), b"\"number\"");
        Self {
            root: OutputRoot::of(schema),
            is_derived: true,
            has_numbers: schema.and_then(finds).is_some(),
            validator: OnceLock::new(),
        }
    }

    /// Of a closure, whose schema somebody wrote.
    pub(crate) fn written(schema: Option<&RawValue>, validator: Option<Validator>) -> Self {
        Self {
            is_derived: false,
            validator: OnceLock::from(validator.map(Box::new)),
            ..Self::derived(schema)
        }
    }

    /// Why the result of this tool is not what was promised. `was_touched` says whether others could change it.
    pub(crate) fn problem(
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
            return Some("there is no structured content, but an output schema".to_owned());
        };
        let text = structured.get();
        let fits = self.is_derived && result.conforms && !was_touched;
        if fits && !(self.has_numbers && has_null(text)) {
            return None;
        }
        self.compare(tool, schema, text)
    }

    #[cold]
    fn compare(&self, tool: &Tool, schema: &RawValue, text: &str) -> Option<String> {
        let made = self.validator.get_or_init(|| {
            let made = serde_json::from_str(schema.get()).map_err(|error| error.to_string());
            let made = made.and_then(Validator::new).inspect_err(|problem| {
                let tool = &tool.name;
                tracing::warn!(
                    tool,
                    problem,
                    "results are not compared with the output schema"
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
        let mut problem = describe(&faults);
        if self.has_numbers && has_null(text) {
            problem += "\nnumbers that JSON does not have, NaN and infinity, are written as null";
        }
        Some(problem)
    }
}

fn has_null(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"null").is_some()
}
