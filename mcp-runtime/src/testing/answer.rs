//! What is answered to questions.

use serde_json::{Value, json};

use crate::client::Question;
use crate::context::Elicit;
use crate::types::{Meta, Root};

/// What a test answers to a question of the server.
///
/// A value of a type that derives [`Elicit`](macro@crate::Elicit) is one: the form, filled in like that. So is a JSON object,
/// for forms made at run time and for answers that do not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Form(Value),
    Agree,
    Decline,
    Cancel,
    Said(Value),
    Roots(Vec<Root>),
}

impl Answer {
    /// Agrees to open an address, or to a form without fields.
    #[must_use]
    pub fn agree() -> Self {
        Self(Kind::Agree)
    }

    /// Says no, to a form or an address.
    #[must_use]
    pub fn decline() -> Self {
        Self(Kind::Decline)
    }

    /// Dismisses a form or an address: neither yes nor no.
    #[must_use]
    pub fn cancel() -> Self {
        Self(Kind::Cancel)
    }

    /// What the client's model says.
    pub fn said(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::message(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "test",
            "stopReason": "endTurn",
        }))
    }

    /// What the client's model says, as `CreateMessageResult` of the schema.
    #[must_use]
    pub fn message(result: Value) -> Self {
        Self(Kind::Said(result))
    }

    /// The client's directories: `file:` URIs.
    pub fn roots<U: Into<String>>(uris: impl IntoIterator<Item = U>) -> Self {
        let roots = uris.into_iter().map(|uri| Root {
            uri: uri.into(),
            name: None,
            meta: None,
        });
        Self(Kind::Roots(roots.collect()))
    }

    /// The result of the question's method; nothing if this does not answer such a question.
    pub(super) fn result(&self, question: &Question) -> Option<Value> {
        match (question.method.as_str(), &self.0) {
            ("elicitation/create", Kind::Form(content)) if question.params["url"].is_null() => {
                Some(json!({"action": "accept", "content": content}))
            }
            ("elicitation/create", Kind::Agree) => Some(match question.params["url"] {
                Value::Null => json!({"action": "accept", "content": {}}),
                _ => json!({"action": "accept"}),
            }),
            ("elicitation/create", Kind::Decline) => Some(json!({"action": "decline"})),
            ("elicitation/create", Kind::Cancel) => Some(json!({"action": "cancel"})),
            ("sampling/createMessage", Kind::Said(result)) => Some(result.clone()),
            ("roots/list", Kind::Roots(roots)) => Some(json!({"roots": roots})),
            _ => None,
        }
    }
}

impl<T: Elicit> From<T> for Answer {
    fn from(form: T) -> Self {
        Self(Kind::Form(Value::Object(form.to_answer())))
    }
}

impl From<Value> for Answer {
    fn from(content: Value) -> Self {
        Self(Kind::Form(content))
    }
}

impl From<Meta> for Answer {
    fn from(content: Meta) -> Self {
        Self(Kind::Form(Value::Object(content)))
    }
}
