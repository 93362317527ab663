//! Requests from a server to a client.
//!
//! The types are independent of the protocol version; [`input`](crate::input) decides which parts of a question are
//! sent in each version. Sampling requests are defined in `sampling` and forms in `form`.
//!
//! Specification: 2026-07-28, client/elicitation, client/roots.

use serde::{Deserialize, Serialize};

use crate::types::{Form, Meta, SamplingRequest};

/// A question for the client: elicitation, sampling or roots.
///
/// Source: revision 2026-07-28, schema `InputRequest`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// `elicitation/create` with a form
    Form {
        /// The text to show to the user.
        message: String,
        /// The form for the user to fill in.
        form: Form,
    },
    /// `elicitation/create` with a URL
    Url {
        /// The text to show to the user.
        message: String,
        /// The URL for the user to open.
        url: String,
    },
    /// `sampling/createMessage`
    Sample(Box<SamplingRequest>),
    /// `roots/list`
    Roots,
    /// A question forwarded from elsewhere, in the form that the client's protocol version requires.
    #[doc(hidden)]
    Forwarded {
        /// The method.
        method: &'static str,
        /// The method's parameters.
        params: serde_json::Value,
    },
}

/// A directory or file that the client works with. Servers are expected to stay within the roots. A client may have no
/// roots.
///
/// Source: revision 2026-07-28, schema `Root`. That revision deprecates roots altogether.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Root {
    /// The `file:` URI of the root.
    pub uri: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl From<&str> for Root {
    fn from(uri: &str) -> Self {
        Self::new(uri)
    }
}

impl From<String> for Root {
    fn from(uri: String) -> Self {
        Self::new(uri)
    }
}

impl Root {
    /// Creates a root without a name.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
        }
    }

    /// Sets the display name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
