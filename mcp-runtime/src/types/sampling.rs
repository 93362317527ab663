//! What a client's model is asked.
//!
//! Neutral: what each revision may see of it is decided by `protocol::input`.
//!
//! Specification: 2026-07-28, client/sampling.

use serde::Serialize;
use serde_json::{Value, json};

use crate::types::{Meta, Role, SamplingContent, SamplingMessage};

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
    /// What else the client shows the model. Left out where the client cannot include anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
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
            include_context: None,
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

    /// What else the client shows the model; it may ignore that.
    ///
    /// Left out if the client does not declare `sampling.context`, which revisions from 2025-11-25 ask for.
    #[must_use]
    pub fn include(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
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

/// What else a client shows its model.
///
/// Source: revision 2025-06-18, schema `CreateMessageRequest`, `includeContext`. Deprecated in 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// What this server gave the client.
    ThisServer,
    /// What all of the client's servers gave it.
    AllServers,
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
