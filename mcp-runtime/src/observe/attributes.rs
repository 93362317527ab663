//! A request and its outcome, as observers see them.

use crate::jsonrpc::RequestId;
use crate::protocol::{Method, ProtocolVersion};

/// What observers see of a request.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub(crate) struct RequestAttributes<'a> {
    /// `None` if the method belongs to an extension or does not exist, so that names made up by clients are not
    /// recorded.
    pub(crate) method: Option<Method>,
    pub(crate) id: &'a RequestId,
    pub(crate) version: Option<ProtocolVersion>,
    /// The raw JSON of `params._meta`.
    pub(crate) meta: Option<&'a str>,
    pub(crate) called: CalledItem<'a>,
}

/// A call's target, identified by its registered name.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub(crate) enum CalledItem<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    /// The URI of a resource, which a client may have made up.
    Resource(&'a str),
    /// A method of an extension. The request's `method` is `None`.
    Method(&'a str),
    Other,
}

/// A request's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub(crate) enum RecordedOutcome {
    Answered,
    /// Answered with a tool result that has `isError` set.
    ToolError,
    /// Answered with questions for the client, which is expected to repeat the request and include the answers.
    InputRequired,
    /// Answered with an error that has this code.
    Error(i32),
    TimedOut,
    Panicked,
    /// Ended without an answer, because it was cancelled or the client disconnected.
    Cancelled,
}

impl RecordedOutcome {
    /// Returns the outcome for a request whose response has been replaced by an error with this code.
    pub(crate) fn with_error(self, code: i32) -> Self {
        match self {
            Self::Panicked | Self::TimedOut => self,
            _ => Self::Error(code),
        }
    }
}
