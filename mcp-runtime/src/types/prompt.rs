//! Prompts: their definition and the messages they produce.

use serde::{Deserialize, Serialize};

use crate::types::{ContentBlock, Icon, Meta, Role};

/// A prompt as `prompts/list` shows it.
///
/// Source: revision 2026-07-28, schema `Prompt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The name `prompts/get` uses.
    pub name: String,
    /// A name for people. Revisions from 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it can be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Pictures for user interfaces. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Anything else. Revisions from 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// One argument of a prompt. Values are always strings on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// A name for people. Revisions from 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt cannot do without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// What `prompts/get` answers.
///
/// Source: revision 2026-07-28, schema `GetPromptResult`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// What these messages are about. Left out, it becomes the description of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// Anything else.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptResult {
    /// These messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }
}

/// One message of a prompt: a role and exactly one content block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// Said by `role`.
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self {
            role,
            content: content.into(),
        }
    }

    /// Said by the person.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Said by the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}
