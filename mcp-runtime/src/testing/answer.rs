//! Answers to questions from the server.

use serde_json::{Value, json};

use crate::client::Question;
use crate::context::Elicit;
use crate::types::{Meta, Root};

/// A test's answer to a question from the server.
///
/// It can be created from a value of a type that derives [`Elicit`](macro@crate::Elicit), as the filled-in form, or
/// from a JSON object, for forms created at run time and for answers that deliberately do not fit the form.
#[derive(Clone, Debug, PartialEq)]
pub struct Response(ResponseKind);

#[derive(Clone, Debug, PartialEq)]
enum ResponseKind {
    Form(Value),
    Agree,
    Decline,
    Cancel,
    Message(Value),
    Roots(Vec<Root>),
}

impl Response {
    /// Agrees to open a URL, or to a form without fields.
    #[must_use]
    pub fn agree() -> Self {
        Self(ResponseKind::Agree)
    }

    /// Declines a form, or to open a URL.
    #[must_use]
    pub fn decline() -> Self {
        Self(ResponseKind::Decline)
    }

    /// Dismisses a form or a URL without agreeing or declining.
    #[must_use]
    pub fn cancel() -> Self {
        Self(ResponseKind::Cancel)
    }

    /// Answers with text as if from the client's model.
    pub fn assistant(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::message(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "test",
            "stopReason": "endTurn",
        }))
    }

    /// Answers with a message as if from the client's model, in the form of the schema's `CreateMessageResult`.
    #[must_use]
    pub fn message(result: Value) -> Self {
        Self(ResponseKind::Message(result))
    }

    /// Answers with the client's roots, which are `file:` URIs.
    pub fn roots<U: Into<String>>(uris: impl IntoIterator<Item = U>) -> Self {
        let roots = uris.into_iter().map(Root::new);
        Self(ResponseKind::Roots(roots.collect()))
    }

    /// Returns the result for the question, or `None` if this cannot answer such a question.
    pub(super) fn result(&self, question: &Question) -> Option<Value> {
        match (question.method.as_str(), &self.0) {
            ("elicitation/create", ResponseKind::Form(content))
                if question.params["url"].is_null() =>
            {
                Some(json!({"action": "accept", "content": content}))
            }
            ("elicitation/create", ResponseKind::Agree) => Some(match question.params["url"] {
                Value::Null => json!({"action": "accept", "content": {}}),
                _ => json!({"action": "accept"}),
            }),
            ("elicitation/create", ResponseKind::Decline) => Some(json!({"action": "decline"})),
            ("elicitation/create", ResponseKind::Cancel) => Some(json!({"action": "cancel"})),
            ("sampling/createMessage", ResponseKind::Message(result)) => Some(result.clone()),
            ("roots/list", ResponseKind::Roots(roots)) => Some(json!({"roots": roots})),
            _ => None,
        }
    }
}

impl<T: Elicit> From<T> for Response {
    fn from(form: T) -> Self {
        Self(ResponseKind::Form(Value::Object(form.to_answer())))
    }
}

impl From<Value> for Response {
    fn from(content: Value) -> Self {
        Self(ResponseKind::Form(content))
    }
}

impl From<Meta> for Response {
    fn from(content: Meta) -> Self {
        Self(ResponseKind::Form(Value::Object(content)))
    }
}
