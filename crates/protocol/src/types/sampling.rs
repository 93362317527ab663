//! Requests to the client's model.
//!
//! The types are independent of the protocol version; [`input`](crate::input) decides which parts are sent in each
//! version.
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
/// Source: revision 2026-07-28, schema `CreateMessageRequestParams`. That revision deprecates sampling altogether.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The maximum number of tokens in the answer. Defaults to 1,000.
    pub max_tokens: u64,
    /// Advisory preferences about which model to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change or omit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Additional context for the client to show to the model. Omitted if the client does not support this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The sampling temperature. Higher values result in more varied answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Strings that make the model stop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Data for the client's model provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Meta>,
    /// The tools that the model may use, each in the form of the schema's `Tool`. Requires the `sampling.tools`
    /// capability.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// An object whose `mode` specifies whether the model may (`auto`), must (`required`) or must not (`none`) use a
    /// tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
}

impl SamplingRequest {
    /// Creates a request with the given messages.
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

    /// Creates a request with a single message from the user. The content can be text or any other kind of content.
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

    /// Asks the client to show additional context to the model. The client may ignore the request.
    ///
    /// Since revision 2025-11-25, this requires the `sampling.context` client capability and is omitted for clients
    /// that do not declare it.
    #[must_use]
    pub fn include(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
        self
    }

    /// Sets the sampling temperature. A value that is not finite clears the temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature).filter(|temperature| temperature.is_finite());
        self
    }

    /// Adds a string that makes the model stop.
    #[must_use]
    pub fn stop_at(mut self, text: impl Into<String>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Sets advisory preferences about which model to use.
    #[must_use]
    pub fn prefer(mut self, preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(preferences);
        self
    }

    /// Adds a tool that the model may use. Requires the `sampling.tools` capability.
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

    /// Sets whether the model may (`auto`), must (`required`) or must not (`none`) use a tool.
    #[must_use]
    pub fn tool_choice(mut self, mode: &str) -> Self {
        self.tool_choice = Some(json!({ "mode": mode }));
        self
    }
}

/// Additional context that a client shows to its model.
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

/// Preferences about which model to use. Names take precedence over priorities, which range from 0.0 to 1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Model names or parts of model names, in order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "hints")]
    pub hints: Vec<String>,
    /// The priority given to low cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// The priority given to speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// The priority given to capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// Creates empty preferences.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model name, or part of a name, after those already added.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// Sets how much to prioritize low cost, clamped to the range from 0.0 to 1.0.
    #[must_use]
    pub fn cost(mut self, priority: f64) -> Self {
        self.cost_priority = clamped_priority(priority);
        self
    }

    /// Sets how much to prioritize speed, clamped to the range from 0.0 to 1.0.
    #[must_use]
    pub fn speed(mut self, priority: f64) -> Self {
        self.speed_priority = clamped_priority(priority);
        self
    }

    /// Sets how much to prioritize capability, clamped to the range from 0.0 to 1.0.
    #[must_use]
    pub fn intelligence(mut self, priority: f64) -> Self {
        self.intelligence_priority = clamped_priority(priority);
        self
    }
}

fn clamped_priority(priority: f64) -> Option<f64> {
    priority.is_finite().then(|| priority.clamp(0.0, 1.0))
}

fn hints<S: serde::Serializer>(hints: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hints.iter().map(|name| json!({ "name": name })))
}
