//! Requests to the client's model.
//!
//! The types are neutral; [`input`](crate::input) decides which parts each protocol version sees.
//!
//! Specification: 2026-07-28, client/sampling.

use serde::Serialize;
use serde_json::{Value, json};

use crate::types::{Meta, Role, SamplingContent, SamplingMessage};

/// A request to the client's model: `sampling/createMessage`.
///
/// ```
/// # extern crate mcp_runtime_protocol as mcp_runtime;
/// use mcp_runtime::types::SamplingRequest;
///
/// let question = SamplingRequest::user("What is the capital of France?").max_tokens(200).temperature(0.2);
/// ```
///
/// Source: revision 2026-07-28, schema `CreateMessageRequestParams`. Deprecated there, as the whole feature is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Maximum number of tokens in the answer. Default 1,000.
    pub max_tokens: u64,
    /// Preferences for the model to use; advisory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change or omit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Additional context that the client shows the model. Omitted if the client cannot include any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The sampling temperature: higher values give more varied answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Strings that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Data for the client's model provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Meta>,
    /// Tools the model may use, as `Tool` of the schema. Requires the capability `sampling.tools`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// The `mode` of tool use: the model may (`auto`), must (`required`) or must not (`none`) use a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
}

impl SamplingRequest {
    /// Creates a request with these messages.
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

    /// Creates a request with one message from the user: text, or any other content.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(vec![SamplingMessage::new(Role::User, content)])
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, role: Role, content: impl Into<SamplingContent>) -> Self {
        self.messages.push(SamplingMessage::new(role, content));
        self
    }

    /// Sets the maximum number of tokens in the answer.
    #[must_use]
    pub fn max_tokens(mut self, max: u64) -> Self {
        self.max_tokens = max;
        self
    }

    /// Sets the system prompt; the client may change or omit it.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Asks the client to show the model additional context; the client may ignore it.
    ///
    /// Omitted if the client does not declare `sampling.context`, which revisions from 2025-11-25 require.
    #[must_use]
    pub fn include(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
        self
    }

    /// Sets the sampling temperature; a value that is not finite clears it.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature).filter(|temperature| temperature.is_finite());
        self
    }

    /// Adds a string that ends the answer.
    #[must_use]
    pub fn stop_at(mut self, text: impl Into<String>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Sets preferences for the model to use; advisory.
    #[must_use]
    pub fn prefer(mut self, preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(preferences);
        self
    }

    /// Adds a tool that the model may use. Requires the capability `sampling.tools`.
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

    /// Sets the mode of tool use: the model may (`auto`), must (`required`) or must not (`none`) use a tool.
    #[must_use]
    pub fn tool_choice(mut self, mode: &str) -> Self {
        self.tool_choice = Some(json!({ "mode": mode }));
        self
    }
}

/// Additional context that a client shows its model.
///
/// Source: revision 2025-06-18, schema `CreateMessageRequest`, `includeContext`. Deprecated in 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// Context from this server.
    ThisServer,
    /// Context from all of the client's servers.
    AllServers,
}

/// Advice on the model to use: names first, then priorities, each from 0.0 to 1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names or parts of names of models, best first.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "hints")]
    pub hints: Vec<String>,
    /// Importance of a low price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// Importance of speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// Importance of capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// Creates preferences without any values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model, by its name or a part of it, after those already named.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// Sets the importance of a low price, clamped to 0.0 to 1.0.
    #[must_use]
    pub fn cost(mut self, priority: f64) -> Self {
        self.cost_priority = share(priority);
        self
    }

    /// Sets the importance of speed, clamped to 0.0 to 1.0.
    #[must_use]
    pub fn speed(mut self, priority: f64) -> Self {
        self.speed_priority = share(priority);
        self
    }

    /// Sets the importance of capability, clamped to 0.0 to 1.0.
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
