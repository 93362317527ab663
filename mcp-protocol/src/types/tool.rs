//! Tools: their definition and the result of a call.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::types::{ContentBlock, Icon, Meta};

/// A tool as listed by `tools/list`.
///
/// Source: revision 2026-07-28, schema `Tool`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name that calls use: 1 to 128 of `A-Z a-z 0-9 _ - .`, unique in the server.
    pub name: String,
    /// Display name. 2025-03-26 receives it in the annotations; older revisions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the tool for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons for user interfaces. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// JSON Schema of the arguments, an object at its root, served unchanged.
    pub input_schema: Box<RawValue>,
    /// JSON Schema of `structuredContent`. Revisions from 2025-06-18; those before 2026-07-28 allow only objects, and
    /// receive any other schema as that of the member `result` of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// Hints about behaviour. Revisions from 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Additional metadata. Revisions from 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

#[doc(hidden)]
impl Tool {
    /// Creates a tool from what it must have.
    pub fn new(name: impl Into<String>, input_schema: Box<RawValue>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            input_schema,
            output_schema: None,
            annotations: None,
            meta: None,
        }
    }
}

/// Hints about a tool's effects; clients must not rely on them for safety.
///
/// Source: revision 2025-03-26, schema `ToolAnnotations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// Display name, for clients of 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` if the tool changes nothing. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// `true` if the tool may delete or overwrite data. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// `true` if a repeated call with the same arguments changes nothing more. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// `true` if the tool interacts with systems outside the server. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The result of `tools/call`.
///
/// Source: revision 2026-07-28, schema `CallToolResult`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The content that the model reads.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The result as JSON that fits the output schema. Revisions from 2025-06-18; those before 2026-07-28 receive a value
    /// that is not an object as the member `result` of one.
    ///
    /// `Some` of the JSON text `null` is a value; `None` means there is none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// `true` if this describes a failure, which the model may read and act on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// `true` if the structured content matches, by construction, the schema of the type it was created from.
    #[serde(skip)]
    #[doc(hidden)]
    pub conforms: bool,
}

impl CallToolResult {
    /// Creates a result with this content.
    pub fn new(content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// Creates a result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }

    /// Creates a failure that the model reads.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Adds an entry to `_meta`. Keys reserved for the protocol are refused when the result is sent.
    #[must_use]
    pub fn with_meta(
        mut self,
        key: impl Into<String>,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        self.meta
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }
}

/// Reads a member that is present as `Some`, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
