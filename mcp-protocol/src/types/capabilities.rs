//! Capabilities of client and server.

use serde::{Deserialize, Serialize};

use crate::types::Meta;
use crate::types::common::null_is_default;

/// Capabilities of a client: the requests that it answers.
///
/// Unknown members are ignored. In revision 2026-07-28 every request carries its client's capabilities.
///
/// Source: revision 2026-07-28, schema `ClientCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// The client lists its roots: the directories it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// The client requests completions from a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// The client asks its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Non-standard capabilities.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Meta::is_empty"
    )]
    pub experimental: Meta,
    /// Extensions and their settings, by identifier.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Meta::is_empty"
    )]
    pub extensions: Meta,
}

/// The client can list its roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    /// `true` if the client sends a notification when its roots change. Legacy era only.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub list_changed: bool,
}

/// The client can request completions from a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingCapability {
    /// The client can offer tools to the model. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Meta>,
    /// The client can include context from its servers. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Meta>,
}

/// The client can ask its user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Elicitation with a form. An empty capability object means this too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Meta>,
    /// Elicitation that opens a URL. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Meta>,
}

impl ElicitationCapability {
    /// Returns `true` if the client supports forms: it declares `form`, or neither `form` nor `url`.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

/// A client capability that a tool requires: `requires(…)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFeature {
    /// `sampling`
    Sampling,
    /// `sampling_tools`
    SamplingTools,
    /// `elicitation`: with a form
    Elicitation,
    /// `elicitation_url`
    ElicitationUrl,
    /// `roots`
    Roots,
}

/// Capabilities of a server, derived from the registered definitions.
///
/// Source: revision 2026-07-28, schema `ServerCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Completion of arguments. Revisions from 2025-03-26; clients of 2024-11-05 may call the method without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<CompletionsCapability>,
    /// Non-standard capabilities.
    #[serde(default, skip_serializing_if = "Meta::is_empty")]
    pub experimental: Meta,
    /// Extensions and their settings, by identifier.
    #[serde(default, skip_serializing_if = "Meta::is_empty")]
    pub extensions: Meta,
    /// Log messages to clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<LoggingCapability>,
    /// Prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChangedCapability>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChangedCapability>,
}

/// The server completes arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionsCapability {}

/// The server may send log messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingCapability {}

/// The server offers a list, and may send notifications when it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListChangedCapability {
    /// `true` if the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
}

/// The server offers resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// `true` if clients can subscribe to changes of single resources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    /// `true` if the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
}
