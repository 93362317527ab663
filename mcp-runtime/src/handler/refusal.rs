//! Errors for calls that cannot start.

use mcp_schema::explain::Fault;

use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};

/// The reason why a call was not started.
#[derive(Debug)]
pub enum CallRefusal {
    /// The arguments are invalid. Contains all errors.
    Arguments(Vec<Fault>),
    /// An injected value is unavailable, or there is a bug in the framework.
    Error(HandlerError),
}

impl From<HandlerError> for CallRefusal {
    fn from(error: HandlerError) -> Self {
        Self::Error(error)
    }
}

impl From<CallRefusal> for HandlerError {
    fn from(refusal: CallRefusal) -> Self {
        match refusal {
            CallRefusal::Arguments(faults) => Self(HandlerErrorRepr::Arguments(faults)),
            CallRefusal::Error(error) => error,
        }
    }
}
