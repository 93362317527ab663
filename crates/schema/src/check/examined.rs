//! A schema that has been examined, with all the data needed to check values.

use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::Value;

/// An examined schema.
#[derive(Debug)]
pub(super) struct ExaminedSchema {
    pub(super) schema: Value,
    pub(super) patterns: HashMap<String, Regex>,
    /// Maps the text of each `$ref` to the JSON pointer of its target.
    pub(super) references: HashMap<String, String>,
    /// `true` if any keyword depends on which properties and items have been evaluated.
    pub(super) tracks: bool,
}

impl ExaminedSchema {
    /// Returns the schema to which a reference leads.
    pub(super) fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = self.references.get(reference)?;
        self.schema.pointer(pointer)
    }
}
