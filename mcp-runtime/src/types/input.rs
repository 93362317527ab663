//! What a server asks a client for, and what it is answered.
//!
//! Neutral: what each revision may see of a question is decided by `protocol::input`.
//!
//! Specification: 2026-07-28, client/elicitation, client/sampling, client/roots.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::types::{AudioContent, ContentBlock, Form, ImageContent, Meta, Role, TextContent};

/// A question for the client.
///
/// Source: revision 2026-07-28, schema `InputRequest`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// `elicitation/create` with a form
    Form {
        /// What the person reads.
        message: String,
        /// What the person fills in.
        form: Form,
    },
    /// `elicitation/create` with an address
    Url {
        /// What the person reads.
        message: String,
        /// Where the person is sent.
        url: String,
    },
    /// `sampling/createMessage`
    Sample(Box<Sample>),
    /// `roots/list`
    Roots,
}

/// A request to the client's model: `sampling/createMessage`.
///
/// ```
/// use mcp_runtime::Sample;
///
/// let question = Sample::user("What is the capital of France?").max_tokens(200).temperature(0.2);
/// ```
///
/// Source: revision 2026-07-28, schema `CreateMessageRequestParams`. Deprecated there, as the whole feature is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sample {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The most tokens the answer may have. Default 1,000.
    pub max_tokens: u64,
    /// Which model to use, as advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change it or leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// How far the model may stray.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Anything for the client's model provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Meta>,
    /// Tools the model may use, as `Tool` of the schema. Takes the capability `sampling.tools`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// Whether the model may, must or must not use a tool: `auto`, `required` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
}

impl Sample {
    /// This conversation.
    #[must_use]
    pub fn new(messages: Vec<SamplingMessage>) -> Self {
        Self {
            messages,
            max_tokens: 1_000,
            model_preferences: None,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// One message of the user: text, or any content.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(vec![SamplingMessage::new(Role::User, content)])
    }

    /// One more message.
    #[must_use]
    pub fn message(mut self, role: Role, content: impl Into<SamplingContent>) -> Self {
        self.messages.push(SamplingMessage::new(role, content));
        self
    }

    /// The most tokens the answer may have.
    #[must_use]
    pub fn max_tokens(mut self, most: u64) -> Self {
        self.max_tokens = most;
        self
    }

    /// The system prompt; the client may change it or leave it out.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// How far the model may stray.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature).filter(|temperature| temperature.is_finite());
        self
    }

    /// One more text that ends the answer.
    #[must_use]
    pub fn stop_at(mut self, text: impl Into<String>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Which model to use, as advice.
    #[must_use]
    pub fn prefer(mut self, preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(preferences);
        self
    }

    /// One more tool the model may use. Takes the capability `sampling.tools`.
    #[must_use]
    pub fn tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: impl Into<Value>,
    ) -> Self {
        let (name, description): (String, String) = (name.into(), description.into());
        let schema: Value = input_schema.into();
        self.tools
            .push(json!({"name": name, "description": description, "inputSchema": schema}));
        self
    }

    /// Whether the model may (`auto`), must (`required`) or must not (`none`) use a tool.
    #[must_use]
    pub fn tool_choice(mut self, mode: &str) -> Self {
        self.tool_choice = Some(json!({ "mode": mode }));
        self
    }
}

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

/// Which model to use, as advice: names first, then what matters, each from 0.0 to 1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names or parts of names of models, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "hints")]
    pub hints: Vec<String>,
    /// How much a low price matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much speed matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much ability matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// Nothing preferred.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more model, by its name or a part of it, after those already named.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// How much a low price matters, clamped to 0.0 to 1.0.
    #[must_use]
    pub fn cost(mut self, priority: f64) -> Self {
        self.cost_priority = share(priority);
        self
    }

    /// How much speed matters, clamped to 0.0 to 1.0.
    #[must_use]
    pub fn speed(mut self, priority: f64) -> Self {
        self.speed_priority = share(priority);
        self
    }

    /// How much ability matters, clamped to 0.0 to 1.0.
    #[must_use]
    pub fn intelligence(mut self, priority: f64) -> Self {
        self.intelligence_priority = share(priority);
        self
    }
}

fn share(priority: f64) -> Option<f64> {
    priority.is_finite().then(|| priority.clamp(0.0, 1.0))
}

fn hints<S: serde::Serializer>(hints: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hints.iter().map(|name| json!({ "name": name })))
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

/// A directory or file the client works in. Stay within them, and expect there to be none.
///
/// Source: revision 2026-07-28, schema `Root`. Deprecated there, as the whole feature is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is: a `file:` URI.
    pub uri: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Anything else.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
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
