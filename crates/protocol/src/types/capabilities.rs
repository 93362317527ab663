//! Capabilities of clients and servers.

use serde::{Deserialize, Serialize};

use crate::types::Meta;
use crate::types::common::null_is_default;

/// A client's capabilities, which determine the requests that it can answer.
///
/// Unknown members are ignored. Since revision 2026-07-28, clients send their capabilities with every request.
///
/// Source: revision 2026-07-28, schema `ClientCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// The client can list its roots, which are the directories that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// The client can request completions from a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// The client can ask its user for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Non-standard capabilities.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Meta::is_empty"
    )]
    pub experimental: Meta,
    /// Extensions and their settings, keyed by identifier.
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
    /// `true` if the client sends a notification when its roots change. Only in legacy protocol versions.
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
    /// The client can offer tools to the model. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Meta>,
    /// The client can include context from its servers. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Meta>,
}

/// The client can ask its user for input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Elicitation with a form. An empty capability object also means that forms are supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Meta>,
    /// Elicitation that opens a URL. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Meta>,
}

impl ElicitationCapability {
    /// Returns `true` if the client supports forms, that is, if it declares `form` or declares neither `form` nor
    /// `url`.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

/// A client capability that a tool can require with `requires(…)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFeature {
    /// `sampling`
    Sampling,
    /// `sampling_tools`
    SamplingTools,
    /// `elicitation` with a form
    Elicitation,
    /// `elicitation_url`
    ElicitationUrl,
    /// `roots`
    Roots,
}

/// A server's capabilities, derived from the registered definitions.
///
/// Source: revision 2026-07-28, schema `ServerCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Argument completion. Since revision 2025-03-26. Clients that use 2024-11-05 can call the method without this
    /// capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<CompletionsCapability>,
    /// Non-standard capabilities.
    #[serde(default, skip_serializing_if = "Meta::is_empty")]
    pub experimental: Meta,
    /// Extensions and their settings, keyed by identifier.
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
    /// The requests that can be run as tasks, and the methods that manage tasks. Only in revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Meta>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChangedCapability>,
}

/// The server can complete arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionsCapability {}

/// The server may send log messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingCapability {}

/// The server offers a list and may send notifications when it changes.
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
    /// `true` if clients can subscribe to changes to individual resources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    /// `true` if the server sends a notification when the list changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
}
