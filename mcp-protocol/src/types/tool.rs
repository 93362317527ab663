//! Tool definitions and the results of tool calls.

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
    /// The name by which the tool is called: 1 to 128 characters from `A-Z a-z 0-9 _ - .`, unique within the server.
    pub name: String,
    /// Display name. Clients of revision 2025-03-26 receive it in the annotations; older clients do not receive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the tool for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons for user interfaces. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// JSON Schema for the arguments, with an object at its root. Clients of revisions before 2026-07-28 receive
    /// boolean property schemas as objects; otherwise, the schema is sent unchanged.
    pub input_schema: Box<RawValue>,
    /// JSON Schema for `structuredContent`. Since revision 2025-06-18. Revisions before 2026-07-28 allow only objects;
    /// for these, any other schema is wrapped in the schema of an object with a `result` member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// Properties of the tool's execution. Only in revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Hints about the tool's behaviour. Since revision 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

#[doc(hidden)]
impl Tool {
    /// Creates a tool with only the required fields.
    pub fn new(name: impl Into<String>, input_schema: Box<RawValue>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            input_schema,
            output_schema: None,
            execution: None,
            annotations: None,
            meta: None,
        }
    }
}

/// Properties of a tool's execution.
///
/// Source: revision 2025-11-25, schema `ToolExecution`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// The tool's support for tasks.
    #[serde(default)]
    pub task_support: TaskSupport,
}

impl ToolExecution {
    /// Creates properties with the given support for tasks.
    #[must_use]
    pub const fn new(task_support: TaskSupport) -> Self {
        Self { task_support }
    }
}

/// A tool's support for tasks.
///
/// Source: revision 2025-11-25, schema `ToolExecution`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskSupport {
    /// Calls cannot be run as tasks.
    #[default]
    Forbidden,
    /// Clients may request that a call be run as a task.
    Optional,
    /// Every call must be run as a task.
    Required,
}

/// Hints about a tool's effects; clients must not rely on them for safety.
///
/// Source: revision 2025-03-26, schema `ToolAnnotations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// Display name for clients that use revision 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` if the tool does not change anything. If absent, clients assume `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// `true` if the tool may delete or overwrite data. If absent, clients assume `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// `true` if repeating a call with the same arguments has no additional effect. If absent, clients assume `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// `true` if the tool interacts with systems outside the server. If absent, clients assume `true`.
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
    /// The content for the model to read.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The result as JSON that matches the output schema. Since revision 2025-06-18. Revisions before 2026-07-28 allow
    /// only objects; for these, any other value is wrapped in an object with a `result` member.
    ///
    /// `Some` containing the JSON text `null` means that the structured content is `null`; `None` means that there is
    /// no structured content.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_even_if_null"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// `true` if the content describes a failure that the model can read and act on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolResult {
    /// Creates a result with the given content.
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

    /// Creates a failed result with text for the model to read.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Creates a result with only structured content. The content is repeated as text only for clients whose protocol
    /// version does not support structured content.
    ///
    /// Until the result is sent, its content is a single empty text block.
    #[must_use]
    pub fn structured_only(content: Box<RawValue>) -> Self {
        Self {
            structured_content: Some(content),
            ..Self::text("")
        }
    }

    /// Returns `true` if the content is the empty text block from [`structured_only`](Self::structured_only), which is
    /// not sent.
    #[must_use]
    pub fn is_structured_only(&self) -> bool {
        self.structured_content.is_some()
            && matches!(self.content.as_slice(), [ContentBlock::Text(text)] if text.text.is_empty())
    }

    /// Adds an entry to `_meta`. Keys that are reserved for the protocol are dropped when the result is sent.
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

/// Deserializes a member as `Some` whenever it is present, even if its value is `null`.
fn present_even_if_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
