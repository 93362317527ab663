//! One of a test's clients, together with its answers and the messages that it has received.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_client::{ClientHost, InProcessClient, Notification, Question};
use mcp_core::context::form::FormContent;
use mcp_core::sync::lock;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_protocol::shape::structured::MEMBER;
use mcp_protocol::types::Root;
use mcp_protocol::{Era, ProtocolVersion};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// A client and its script.
pub(super) struct ScriptedClient {
    pub(super) client: InProcessClient,
    pub(super) script: Arc<ScriptedHost>,
}

impl ScriptedClient {
    pub(super) fn new(client: InProcessClient, script: Arc<ScriptedHost>) -> Self {
        Self { client, script }
    }

    pub(super) fn version(&self) -> &'static str {
        self.client.version().as_str()
    }

    /// Returns the name of a method that every server answers immediately.
    pub(super) fn harmless_method(&self) -> &'static str {
        match self.client.version().era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        }
    }
}

impl fmt::Debug for ScriptedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

pub(super) type Answerer = Arc<dyn Fn(&Question) -> Option<Response> + Send + Sync>;

/// A client's answers, and the questions and notifications that it has received.
#[derive(Default)]
pub(super) struct ScriptedHost {
    state: Mutex<ScriptedState>,
    notified: Notify,
}

#[derive(Default)]
struct ScriptedState {
    /// The unused answers, in order. Each answer is used for the first question that it can answer.
    answers: VecDeque<Response>,
    answerer: Option<Answerer>,
    asked: Vec<Question>,
    /// The number of times the last call returned questions.
    rounds: usize,
    notifications: VecDeque<Notification>,
}

impl ScriptedHost {
    pub(super) fn add_answer(&self, answer: Response) {
        self.state().answers.push_back(answer);
    }

    pub(super) fn set_answerer(&self, answerer: Answerer) {
        self.state().answerer = Some(answerer);
    }

    /// Removes and returns the questions that have been asked.
    pub(super) fn take_asked(&self) -> Vec<Question> {
        std::mem::take(&mut self.state().asked)
    }

    fn state(&self) -> MutexGuard<'_, ScriptedState> {
        lock(&self.state)
    }

    pub(super) fn begin_call(&self) {
        self.state().rounds = 0;
    }

    pub(super) fn rounds(&self) -> usize {
        self.state().rounds
    }

    pub(super) fn take_notifications(&self) -> Vec<Notification> {
        self.state().notifications.drain(..).collect()
    }

    pub(super) async fn next_notification(&self) -> Notification {
        loop {
            let notified = self.notified.notified();
            if let Some(notification) = self.state().notifications.pop_front() {
                return notification;
            }
            notified.await;
        }
    }
}

impl ClientHost for ScriptedHost {
    fn answer_question(&self, question: &Question) -> Result<Value, String> {
        let answerer = {
            let mut state = self.state();
            state.asked.push(question.clone());
            let fits = |answer: &Response| answer.result(question).is_some();
            if let Some(answer) = state.answers.iter().position(fits) {
                let answer = state.answers.remove(answer);
                return Ok(answer
                    .and_then(|answer| answer.result(question))
                    .unwrap_or_default());
            }
            state.answerer.clone()
        };
        let answer = answerer.and_then(|answerer| answerer(question));
        answer.and_then(|answer| answer.result(question)).ok_or_else(|| {
            let params = match &question.params {
                Value::Null => String::new(),
                params => format!(" {params}"),
            };
            format!(
                "the test has no answer to `{}`{params}; give it one of the right kind with `client.answer(…)` before \
                 the call",
                question.method
            )
        })
    }

    fn handle_notification(&self, notification: Notification) {
        self.state().notifications.push_back(notification);
        self.notified.notify_one();
    }

    fn begin_round(&self) {
        self.state().rounds += 1;
    }
}

// --- Compares the results from the two eras.

/// The results of a single request from the sides compared so far.
pub(super) struct OutcomeComparison<'t> {
    what: &'t str,
    /// The first side's protocol version, and its result in a form that does not depend on the version.
    first: Option<(&'static str, String)>,
    last: Result<Value, ErrorObject>,
}

impl<'t> OutcomeComparison<'t> {
    pub(super) fn new(what: &'t str) -> Self {
        Self {
            what,
            first: None,
            last: Ok(Value::Null),
        }
    }

    /// # Panics
    ///
    /// Panics if the result differs from the previous side's result.
    pub(super) fn add(&mut self, side: &ScriptedClient, outcome: Result<Value, ErrorObject>) {
        self.add_version(side.client.version(), outcome);
    }

    /// # Panics
    ///
    /// Panics if the result differs from that of the previous version.
    pub(super) fn add_version(
        &mut self,
        version: ProtocolVersion,
        outcome: Result<Value, ErrorObject>,
    ) {
        let version = version.as_str();
        let neutral = version_independent_text(&outcome);
        match &self.first {
            Some((revision, other)) => assert!(
                *other == neutral,
                "different results for {}:\n{revision}: {other}\n{}: {neutral}\nBoth clients send every request, \
                 one after the other: if the first one affects the result of the second, use `TestClient::each`; \
                 if results contain random ids or times, use `TestClient::legacy` and `TestClient::modern`",
                self.what,
                version,
            ),
            None => self.first = Some((version, neutral)),
        }
        self.last = outcome;
    }

    pub(super) fn outcome(self) -> Result<Value, ErrorObject> {
        self.last
    }
}

/// Returns the part of a result that must be the same in every protocol version. Error codes, members that exist only
/// in some versions, and references to the log are omitted.
fn version_independent_text(outcome: &Result<Value, ErrorObject>) -> String {
    let text = match outcome {
        Err(error) => format!("error: {}", error.message),
        // A missing client capability is a protocol error in one era and a tool error in the other.
        Ok(result) if result["isError"] == true => {
            let texts = result["content"].as_array().into_iter().flatten();
            let texts = texts.map(|block| block["text"].as_str().unwrap_or_default());
            format!("error: {}", texts.collect::<Vec<_>>().join("\n"))
        }
        Ok(Value::Object(members)) => {
            let mut members = members.clone();
            // These members exist only in 2026-07-28.
            for name in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                members.shift_remove(name);
            }
            // The other versions wrap structured content that is not an object.
            if let Some(content) = members.get_mut("structuredContent")
                && let Some(inside) = content.as_object_mut().filter(|object| object.len() == 1)
                && let Some(inside) = inside.shift_remove(MEMBER)
            {
                *content = inside;
            }
            Value::Object(members).to_string()
        }
        Ok(value) => match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        },
    };
    without_log_references(&text)
}

fn without_log_references(text: &str) -> String {
    let mut parts = text.split("(reference ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("(reference");
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}

// --- Answers to questions from the server.

/// A test's answer to a question from the server.
///
/// To fill in a form, create the answer from a value of a type that derives `Elicit`. For forms
/// created at run time, or to deliberately return data that does not match the form, create it from a JSON object.
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
    /// Accepts a request to open a URL or a form without fields.
    #[must_use]
    pub fn agree() -> Self {
        Self(ResponseKind::Agree)
    }

    /// Declines to fill in a form or to open a URL.
    #[must_use]
    pub fn decline() -> Self {
        Self(ResponseKind::Decline)
    }

    /// Dismisses a form or a URL without accepting or declining it.
    #[must_use]
    pub fn cancel() -> Self {
        Self(ResponseKind::Cancel)
    }

    /// Answers a sampling request with text, as if generated by the client's model.
    pub fn assistant(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::message(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "test",
            "stopReason": "endTurn",
        }))
    }

    /// Answers a sampling request with a message in the form of the schema's `CreateMessageResult`, as if generated by
    /// the client's model.
    #[must_use]
    pub fn message(result: Value) -> Self {
        Self(ResponseKind::Message(result))
    }

    /// Answers with the client's roots, given as `file:` URIs or, to set their names, as [`Root`]s.
    pub fn roots<R: Into<Root>>(roots: impl IntoIterator<Item = R>) -> Self {
        let roots = roots.into_iter().map(Into::into);
        Self(ResponseKind::Roots(roots.collect()))
    }

    /// Returns the result that answers the question, or `None` if this response cannot answer a question of this kind.
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

impl<T: FormContent> From<T> for Response {
    fn from(form: T) -> Self {
        Self(ResponseKind::Form(form.into_content()))
    }
}
