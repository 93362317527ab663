//! What a server asks a client for.
//!
//! Neutral: what each revision may see of a question is decided by `protocol::input`. What a model is asked stands in
//! `sampling`, what a form holds in `form`.
//!
//! Specification: 2026-07-28, client/elicitation, client/roots.

use serde::{Deserialize, Serialize};

use crate::types::{Form, Meta, Sample};

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
