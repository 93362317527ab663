//! The interface through which a call's context sends questions to the client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Sleep;

use crate::context::{CallId, OnceStore};
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::types::{ClientFeature, InputRequest};

/// Sends questions to the client. Implemented by `dispatch`.
pub(crate) trait QuestionTransport: Send + Sync {
    /// Returns `true` if the client currently supports this kind of question.
    fn can_ask(&self, feature: ClientFeature) -> bool;
    /// Checks that a question is valid and that the client supports it.
    fn check(&self, request: &InputRequest) -> Result<(), AskError>;
    /// Assigns a key that distinguishes this question from other questions in the same run.
    fn identify(&self, request: &InputRequest) -> QuestionKey;
    /// Returns the key used on the wire for a name chosen by the author.
    fn key(&self, name: &str) -> String;
    /// Sends the question or polls for its answer. The answer is JSON text and can contain any value.
    fn poll(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>>;
    /// Rejects an invalid answer. Returns an error if the question must not be asked again.
    fn reject(&self, question: &mut CallQuestion, problem: String) -> Result<(), AskError>;
    /// Withdraws a question whose answer is no longer awaited.
    fn withdraw(&self, question: &mut CallQuestion);

    /// Begins a run of the handler. Middleware may run the handler several times.
    fn begin_run(&self);
    /// Ends a run.
    fn end_run(&self);
    /// Returns the call's id, which is the same in all of its rounds.
    fn call_id(&self) -> CallId;
    /// Returns `true` if the request continues an earlier round. Its client can send such a request again.
    fn is_continued(&self) -> bool;
    /// Returns the call's journal so far, in case the call continues elsewhere.
    fn journal(&self) -> String;
    /// Ends the call's round, once the handler is pending, with the questions and the journal of a run that is separate
    /// from the request. Returns `false` if the call has no rounds.
    fn end_round_with(&self, _journal: &str, _questions: Vec<DetachedQuestion>) -> bool {
        false
    }
    /// Starts work that must run only once. Returns its result if an earlier round has already completed it.
    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError>;
    /// Ends work started by `begin_once` and records its result if it succeeded.
    fn end_once(&self, name: &str, result: Option<&str>);
    /// Returns `true` while work that must run only once is running.
    fn is_once_under_way(&self) -> bool;
    /// Returns the store for work that must run only once, if a store is configured and applies to this call.
    fn once_store(&self) -> Option<Arc<dyn OnceStore>>;
}

/// A question from a run that is separate from the request: its key, method and parameters.
pub(crate) type DetachedQuestion = (String, &'static str, Value);

/// A question asked during one run of a handler.
pub(crate) struct CallQuestion {
    pub(crate) request: InputRequest,
    pub(crate) identity: QuestionKey,
    pub(crate) progress: QuestionProgress,
    /// The number of invalid answers in this run.
    pub(crate) rejected: u32,
}

/// Identifies a question.
#[derive(Clone, Debug)]
pub(crate) struct QuestionKey {
    /// The key on the wire.
    pub(crate) key: String,
    /// A digest of the question's content.
    pub(crate) digest: String,
    /// `true` if the author set the key, in which case it does not depend on the content.
    pub(crate) named: bool,
}

/// A question's state.
pub(crate) enum QuestionProgress {
    Not,
    /// Waiting for the response to the request with this id, until the timer fires.
    Waiting(u64, Pin<Box<Sleep>>),
    /// The question will be returned to the client when the round ends.
    Open,
    Over,
}

// --- Errors for questions sent to the client.

/// The reason why a question was not answered. If a handler propagates this error with `?`, it is reported to the model
/// or client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The user declined, or the client declined on the user's behalf.
    Declined,
    /// The user dismissed the question without making a choice.
    Cancelled,
    /// The client does not support this kind of question. In modern protocol versions, this becomes error -32021, which
    /// names the missing capability.
    Unsupported(ErrorObject),
    /// The client answered with an error.
    Failed {
        /// The error code.
        code: i64,
        /// The error message.
        message: String,
    },
    /// The client did not answer in time. See [`limits.elicitation.timeout`](crate::Limits).
    TimedOut(Duration),
    /// The answer is invalid. A form is sent three times before this error is returned; any other question is sent only
    /// once.
    Unusable(String),
    /// The question itself is invalid because of a mistake in the handler.
    Misused(String),
    /// The client has disconnected, or the call has ended.
    Gone,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined => f.write_str("the user declined"),
            Self::Cancelled => f.write_str("the user dismissed the question without answering"),
            Self::Unsupported(error) => f.write_str(&error.message),
            Self::Failed { code, message } => {
                write!(f, "the client could not answer: {message} ({code})")
            }
            Self::TimedOut(limit) => write!(f, "no answer within {limit:?}"),
            Self::Unusable(problem) => write!(f, "the answer is invalid: {problem}"),
            Self::Misused(problem) => f.write_str(problem),
            Self::Gone => f.write_str("the client can no longer be queried"),
        }
    }
}

impl std::error::Error for AskError {}

impl AskError {
    /// Returns the protocol error with which to respond, if this error maps to one.
    pub(crate) fn protocol_error(&self) -> Option<&ErrorObject> {
        match self {
            Self::Unsupported(error) if error.code == errors::MISSING_CAPABILITY => Some(error),
            _ => None,
        }
    }
}
