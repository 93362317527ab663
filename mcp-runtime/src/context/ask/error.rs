//! Errors for questions sent to the client.

use std::fmt;
use std::time::Duration;

use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

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
