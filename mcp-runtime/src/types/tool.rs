//! Tools: their definition and the result of a call.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::types::{ContentBlock, Icon, Meta};

/// A tool as `tools/list` shows it.
///
/// Source: revision 2026-07-28, schema `Tool`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name a call uses: 1 to 128 of `A-Z a-z 0-9 _ - .`, unique in the server.
    pub name: String,
    /// A name for people. 2025-03-26 receives it inside the annotations, older revisions not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pictures for user interfaces. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// JSON Schema of the arguments, an object at its root, served as it stands here.
    pub input_schema: Box<RawValue>,
    /// JSON Schema of `structuredContent`. Revisions from 2025-06-18; those before 2026-07-28 have objects only, and
    /// see any other as that of the member `result` of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// Hints about behaviour. Revisions from 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Anything else. Revisions from 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Hints about what a tool does; clients must not rely on them for safety.
///
/// Source: revision 2025-03-26, schema `ToolAnnotations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A name for people, for clients of 2025-03-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it changes nothing. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether it may delete or overwrite. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether calling it again with the same arguments changes nothing more. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether it reaches things outside the server. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// What a tool answers.
///
/// Source: revision 2026-07-28, schema `CallToolResult`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// What the model reads.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same as JSON, fitting the output schema. Revisions from 2025-06-18; those before 2026-07-28 see
    /// what is no object as the member `result` of one.
    ///
    /// `Some` of the text `null` is a value; `None` means there is none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether this describes a failure, which the model may read and act on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Anything else.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Whether the structured content fits the schema of the type it was made of by construction.
    #[serde(skip)]
    pub(crate) conforms: bool,
}

impl CallToolResult {
    /// A result with this content.
    pub fn new(content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// A result that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }

    /// A failure the model reads.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// With one more entry of `_meta`. Keys reserved for the protocol are refused when the result is sent.
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

/// A member that is there, be it `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
