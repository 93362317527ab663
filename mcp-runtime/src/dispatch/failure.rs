//! Handles failed calls: responds to the client and logs the causes.

use std::fmt;
use std::time::Duration;

use mcp_schema::explain::{Fault, describe_faults};

use crate::dispatch::finish::CallFinisher;
use crate::dispatch::target::CallTarget;
use crate::error::{Causes, Error, ErrorKind};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::jsonrpc::ErrorObject;
use crate::observe::{Failure, RecordedOutcome, RefusalKind, record_refusal};
use crate::protocol::{encode, errors};
use crate::random;

impl CallFinisher {
    /// Writes that the handler took longer than its limit.
    pub(super) fn write_timeout(
        &self,
        limit: Duration,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        let source = self.target.asked_source();
        tracing::warn!(
            called = self.target.name(),
            source = source.as_deref(),
            ?limit,
            "a handler took too long and was cancelled"
        );
        let source = source.map(|source| format!("the tool source `{source}` "));
        let source = source.unwrap_or_default();
        let text = format_args!("{source}took longer than {limit:?} and was stopped");
        self.write_failure(HandlerError::exposed(text), out)
    }

    /// Writes a failure as a message for the model, as a JSON-RPC error, or as an internal error (whose cause is logged
    /// but not sent).
    pub(super) fn write_failure(
        &self,
        HandlerError(failure): HandlerError,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        if matches!(failure, HandlerErrorRepr::Busy(_)) {
            record_refusal(RefusalKind::TooMany, None);
        }
        let text = match failure {
            HandlerErrorRepr::Arguments(faults) => return self.write_faults(&faults, out),
            HandlerErrorRepr::Busy(error) if self.target.tool().is_some() => error.message,
            HandlerErrorRepr::Protocol(error) | HandlerErrorRepr::Busy(error) => return Err(error),
            HandlerErrorRepr::Reauthorize(error) => {
                #[cfg(feature = "http")]
                if let Some(request) = &self.http_request {
                    request.demand_authorization(&error, self.caller.principal());
                }
                return Err(error);
            }
            HandlerErrorRepr::Unwritable(cause) => {
                return Err(self.log_internal_error("a result cannot be written as JSON", &cause));
            }
            HandlerErrorRepr::ResourceNotFound(text) => match &self.target {
                CallTarget::Read(read) => {
                    let mut error = errors::resource_not_found(self.version, read.requested_uri());
                    if let Some(text) = text {
                        error.message = text;
                    }
                    return Err(error);
                }
                _ => text.unwrap_or_else(|| "there is no such resource".to_owned()),
            },
            HandlerErrorRepr::Exposed(text) => text,
            HandlerErrorRepr::Opaque(cause) => {
                let causes = Causes(&*cause);
                let log = || self.log("a handler failed", &causes);
                let reference = match cause.downcast_ref::<Error>() {
                    Some(error) if error.kind() == ErrorKind::State => {
                        let failures = &self.dispatcher.state_failures;
                        failures.reference(error.to_string(), log)
                    }
                    _ => log(),
                };
                if self.dispatcher.settings.expose_errors {
                    return self.write_message(causes.to_string(), out);
                }
                if self.target.tool().is_none() {
                    return Err(internal_error(&reference));
                }
                format!("internal error (reference {reference})")
            }
        };
        self.write_message(text, out)
    }

    /// Writes a message for the model, as a tool result if possible and as an error in all other cases.
    fn write_message(&self, text: String, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        match self.target.tool() {
            Some(_) => self.write_tool_error(text, out),
            None => Err(ErrorObject::internal(text)),
        }
    }

    /// Reports invalid arguments. For a tool, invalid arguments are normally reported in a result so that the model can
    /// correct them. In all other cases, they are reported as an error.
    pub(super) fn write_faults(
        &self,
        faults: &[Fault],
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        let text = describe_faults(faults);
        let is_tool = self.target.tool().is_some();
        let as_error = self.dispatcher.settings.argument_errors
            && !self.version.reports_argument_faults_as_results();
        if is_tool && !as_error {
            return self.write_tool_error(text, out);
        }
        let faults = faults
            .iter()
            .map(|fault| serde_json::json!({ "pointer": fault.pointer, "message": fault.message }));
        let data = serde_json::json!({ "faults": faults.collect::<Vec<_>>() });
        Err(ErrorObject::invalid_params(text).with_data(data))
    }

    /// Logs a panic and returns the error for the client.
    pub(super) fn panic_error(&self, panic: &str) -> ErrorObject {
        let reference = random_reference();
        tracing::error!(
            reference,
            called = self.target.name(),
            panic,
            "a handler panicked"
        );
        self.report(&reference, "a handler panicked", &panic);
        internal_error(&reference)
    }

    /// Logs a failure and returns the error for the client.
    pub(super) fn log_internal_error(&self, what: &str, cause: &dyn fmt::Display) -> ErrorObject {
        internal_error(&self.log(what, cause))
    }

    /// Logs a failure and returns the reference that identifies it in the log.
    fn log(&self, what: &str, cause: &dyn fmt::Display) -> String {
        let reference = random_reference();
        tracing::error!(reference, called = self.target.name(), error = %cause, "{what}");
        self.report(&reference, what, cause);
        reference
    }

    /// Tells a failure to observers.
    fn report(&self, reference: &str, what: &str, cause: &dyn fmt::Display) {
        self.dispatcher.settings.observers.fail(&Failure {
            called: self.target.name(),
            what,
            cause,
            reference,
        });
    }

    /// Replaces an error's code if this protocol version does not allow handlers to use it.
    #[cold]
    pub(super) fn translate(&self, error: &mut ErrorObject) {
        let code = errors::code_of_call(error, self.version);
        if code != error.code {
            tracing::warn!(
                called = self.target.name(),
                code = error.code,
                sent = code,
                version = self.version.as_str(),
                "a handler failed with a code that handlers may not use in this protocol version"
            );
            error.code = code;
        }
    }

    /// If the response of `size` bytes that begins at `start` is too large, replaces it. Returns the call's new
    /// outcome, or `None` if the outcome is unchanged because the response is an error or within the limit.
    #[cold]
    pub(super) fn replace_if_too_large(
        &self,
        size: usize,
        error: &mut Option<ErrorObject>,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Option<RecordedOutcome> {
        let limit = match error {
            Some(_) => self.dispatcher.limits().calls.max_result_bytes,
            None => self.max_output(),
        };
        if size <= limit {
            return None;
        }
        self.recording.within(|| {
            tracing::warn!(
                called = self.target.name(),
                size,
                limit,
                "a result was too large to send"
            );
        });
        out.truncate(start);
        if let Some(error) = error {
            let text = format!("the error is larger than {limit} bytes, so its text was removed");
            *error = ErrorObject::new(error.code, text);
            encode::error(out, self.id.as_ref(), error);
            return None;
        }
        // The message omits the size, because the size depends on which members the protocol version adds to the
        // result.
        let text = format!("the result is larger than {limit} bytes; ask for less");
        Some(if self.target.tool().is_some() {
            encode::handler_error(out, self.response_context(), text);
            RecordedOutcome::ToolError
        } else {
            encode::error(out, self.id.as_ref(), &ErrorObject::internal(text));
            RecordedOutcome::Error(ErrorObject::INTERNAL_ERROR)
        })
    }
}

fn internal_error(reference: &str) -> ErrorObject {
    ErrorObject::internal("internal error").with_data(serde_json::json!({ "reference": reference }))
}

/// Creates a random reference that identifies a failure in the log.
fn random_reference() -> String {
    let mut bytes = [0; 8];
    match random::fill(&mut bytes) {
        Ok(()) => format!("{:016x}", u64::from_ne_bytes(bytes)),
        Err(_) => "unavailable".to_owned(),
    }
}
