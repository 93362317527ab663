//! The conversation with a client's model: what it is told, and what it says.
//!
//! Specification: 2026-07-28, client/sampling.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{AudioContent, ContentBlock, ImageContent, Role, TextContent};

/// One message of a conversation with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Whose it is.
    pub role: Role,
    /// What it says. Several blocks exist from 2025-11-25; older clients get a message for each.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
}

impl SamplingMessage {
    /// A message of one block.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self {
            role,
            content: vec![content.into()],
        }
    }

    /// One more block.
    #[must_use]
    pub fn and(mut self, content: impl Into<SamplingContent>) -> Self {
        self.content.push(content.into());
        self
    }
}

/// One piece of a message to or from a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SamplingContent {
    /// Plain text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// A sound. Revisions from 2025-03-26.
    Audio(AudioContent),
    /// The model wants a tool to be run. Revisions from 2025-11-25.
    #[serde(rename_all = "camelCase")]
    ToolUse {
        /// By which its result refers to it.
        id: String,
        /// Which tool.
        name: String,
        /// With what.
        #[serde(default)]
        input: Map<String, Value>,
    },
    /// What a tool came to. Revisions from 2025-11-25.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// The `id` of the [`ToolUse`](Self::ToolUse).
        tool_use_id: String,
        /// What it says.
        content: Vec<ContentBlock>,
        /// Whether it failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        Self::Text(TextContent::new(text))
    }
}

impl From<String> for SamplingContent {
    fn from(text: String) -> Self {
        Self::Text(TextContent::new(text))
    }
}

impl From<ImageContent> for SamplingContent {
    fn from(image: ImageContent) -> Self {
        Self::Image(image)
    }
}

impl From<AudioContent> for SamplingContent {
    fn from(audio: AudioContent) -> Self {
        Self::Audio(audio)
    }
}

/// What the client's model said.
///
/// Source: revision 2026-07-28, schema `CreateMessageResult`. Read leniently.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Whose message it is: the assistant's.
    pub role: Role,
    /// What it says.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
    /// Which model it was.
    #[serde(default)]
    pub model: String,
    /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or something else.
    #[serde(default)]
    pub stop_reason: Option<String>,
}

impl CreateMessageResult {
    /// All of its text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            SamplingContent::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// It as the next message of the conversation, for a loop with tools.
    #[must_use]
    pub fn into_message(self) -> SamplingMessage {
        SamplingMessage {
            role: self.role,
            content: self.content,
        }
    }
}

/// A single block stands alone, several stand in an array.
mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SamplingContent;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        Many(Vec<SamplingContent>),
        One(Box<SamplingContent>),
    }

    pub(super) fn serialize<S: Serializer>(
        content: &[SamplingContent],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match content {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<SamplingContent>, D::Error> {
        Ok(match OneOrMany::deserialize(deserializer)? {
            OneOrMany::Many(many) => many,
            OneOrMany::One(one) => vec![*one],
        })
    }
}
