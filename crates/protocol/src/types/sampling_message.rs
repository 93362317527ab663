//! Messages sent to and received from a client's model.
//!
//! Specification: 2026-07-28, client/sampling.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{AudioContent, ContentBlock, ImageContent, Role, TextContent};

/// A message in a conversation with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The speaker.
    pub role: Role,
    /// The content blocks. Before 2025-11-25, messages had only one block, so older clients receive a separate message
    /// for each block.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
}

impl SamplingMessage {
    /// Creates a message with a single content block.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self {
            role,
            content: vec![content.into()],
        }
    }

    /// Adds a content block.
    #[must_use]
    pub fn and(mut self, content: impl Into<SamplingContent>) -> Self {
        self.content.push(content.into());
        self
    }
}

/// A content block in a message sent to or received from a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SamplingContent {
    /// Plain text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio. Since revision 2025-03-26.
    Audio(AudioContent),
    /// A tool call requested by the model. Since revision 2025-11-25.
    #[serde(rename_all = "camelCase")]
    ToolUse {
        /// The id that the result uses to refer to the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        #[serde(default)]
        input: Map<String, Value>,
    },
    /// The result of a tool call. Since revision 2025-11-25.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// The `id` of the corresponding [`ToolUse`](Self::ToolUse).
        tool_use_id: String,
        /// The content of the result.
        content: Vec<ContentBlock>,
        /// `true` if the tool failed.
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

/// The response from the client's model.
///
/// Source: revision 2026-07-28, schema `CreateMessageResult`. A missing `model` or `stopReason` is accepted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The speaker, normally the assistant.
    pub role: Role,
    /// The content blocks.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
    /// The name of the model.
    #[serde(default)]
    pub model: String,
    /// The reason why the model stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another string.
    #[serde(default)]
    pub stop_reason: Option<String>,
}

impl CreateMessageResult {
    /// Returns all text blocks, joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            SamplingContent::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Converts the response into the next message of the conversation, for use in loops in which the model calls
    /// tools.
    #[must_use]
    pub fn into_message(self) -> SamplingMessage {
        SamplingMessage {
            role: self.role,
            content: self.content,
        }
    }
}

/// Serializes a single block as an object and several blocks as an array.
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
