//! What is told of a request, and of its end.

use crate::jsonrpc::RequestId;
use crate::protocol::{Method, ProtocolVersion};

/// A request, as far as an operator sees it.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "telemetry"),
    allow(dead_code, reason = "nobody looks without the feature")
)]
pub(crate) struct Asked<'a> {
    /// None if there is no such method: what clients invent is not repeated.
    pub(crate) method: Option<Method>,
    pub(crate) id: &'a RequestId,
    pub(crate) version: Option<ProtocolVersion>,
    /// The raw JSON of `params._meta`.
    pub(crate) meta: Option<&'a str>,
    pub(crate) called: Called<'a>,
}

/// What is called, by the name under which it is registered.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "telemetry"),
    allow(dead_code, reason = "nobody looks without the feature")
)]
pub(crate) enum Called<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    /// By its address, which a client may have made up.
    Resource(&'a str),
    Other,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "telemetry"),
    allow(dead_code, reason = "nobody looks without the feature")
)]
pub(crate) enum Ended {
    Answered,
    /// With a tool result that says `isError`.
    ToolError,
    /// The client is asked for something, and comes again.
    InputRequired,
    /// With an error of this code.
    Error(i32),
    TimedOut,
    Panicked,
    /// Without an answer: taken back, or its client gone.
    Cancelled,
}

impl Ended {
    /// The same, if it turns out that an error of this code is what can be answered.
    pub(crate) fn with_error(self, code: i32) -> Self {
        match self {
            Self::Panicked | Self::TimedOut => self,
            _ => Self::Error(code),
        }
    }
}
