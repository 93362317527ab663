//! A question to the client, and the errors that it can end with.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

use crate::host::Sleep;
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::types::InputRequest;

/// A question from a run in the background: its key, method and parameters.
pub(crate) type QuestionParts = (String, &'static str, Value);

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
    /// The client did not answer in time. See [`limits.elicitation.timeout`](crate::limits::Limits).
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
    /// A call asks more questions at once than it may.
    pub(super) fn too_many(most: usize) -> Self {
        Self::Misused(format!("more than {most} questions are open at once"))
    }

    /// Returns the protocol error with which to respond, if this error maps to one.
    pub(crate) fn protocol_error(&self) -> Option<&ErrorObject> {
        match self {
            Self::Unsupported(error) if error.code == errors::MISSING_CAPABILITY => Some(error),
            _ => None,
        }
    }
}

// --- What a handler may not do inside `once` or `on_commit`.

thread_local! {
    pub(super) static INSIDE_ONCE: Cell<bool> = const { Cell::new(false) };
    pub(super) static INSIDE_COMMIT: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` while this thread is polling work that must run only once.
pub(crate) fn is_inside_once() -> bool {
    INSIDE_ONCE.get()
}

/// Returns `true` while this thread is polling a deferred effect.
pub(crate) fn is_inside_commit() -> bool {
    INSIDE_COMMIT.get()
}
