//! What each side says it can do.

use serde::{Deserialize, Serialize};

use crate::types::Meta;
use crate::types::common::null_is_default;

/// What the client can be asked for.
///
/// Unknown members are ignored. In revision 2026-07-28 every request carries its own.
///
/// Source: revision 2026-07-28, schema `ClientCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// It can say which directories it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It can ask a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It can ask the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Anything non-standard.
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
    /// It also says when they change. Legacy era only.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub list_changed: bool,
}

/// The client can ask a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingCapability {
    /// It can offer tools to that model. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Meta>,
    /// It can include context of servers. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Meta>,
}

/// The client can ask the person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// With a form. An empty capability object means this too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Meta>,
    /// By opening an address. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Meta>,
}

impl ElicitationCapability {
    /// Whether forms may be used: declared, or nothing at all declared.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

/// Something a client must be able to do before a tool runs: `requires(…)`.
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

/// What the server offers; derived from what is registered.
///
/// Source: revision 2026-07-28, schema `ServerCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// It completes arguments. Revisions from 2025-03-26; 2024-11-05 may call the method without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<CompletionsCapability>,
    /// Anything non-standard.
    #[serde(default, skip_serializing_if = "Meta::is_empty")]
    pub experimental: Meta,
    /// Extensions and their settings, by identifier.
    #[serde(default, skip_serializing_if = "Meta::is_empty")]
    pub extensions: Meta,
    /// It may send log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<LoggingCapability>,
    /// It offers prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChangedCapability>,
    /// It offers resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It offers tools.
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

/// The server offers a list, and may say when it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListChangedCapability {
    /// It says when the list changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
}

/// The server offers resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// A client can follow changes of single resources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    /// It says when the list changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list_changed: bool,
}
