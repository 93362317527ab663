//! Call outcomes, the responses written for them, and failures: what the client is told, and what the log says.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_schema::explain::{Fault, describe_faults};

use crate::context::Caller;
#[cfg(feature = "http")]
use crate::context::HttpParts;
use crate::context::rounds::RoundEnd;
use crate::dispatch::Dispatcher;
use crate::dispatch::target::CallTarget;
use crate::error::{Causes, Error, ErrorKind};
use crate::handler::completion::rank;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::middleware::ForModel;
use crate::handler::run::{CallOutput, Output};
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::observe::{
    LoggedFailure, RecordedOutcome, RefusalKind, RequestRecording, record_refusal,
};
use crate::protocol::encode::{ResponseContext, TextGap};
use crate::protocol::shape::structured::OutputRoot;
use crate::protocol::{ProtocolVersion, encode, errors};
use crate::registry::{ItemDetails, OutputChecker};
use crate::seal::Binding;
use crate::types::{CallToolResult, ReadResourceResult, Tool};
use crate::{random, seal, spawn};

/// The data needed to write the response once a call has finished.
pub(super) struct CallFinisher {
    pub(super) dispatcher: Arc<Dispatcher>,
    /// The request's id. If `None`, only the result is written, without a message around it.
    pub(super) id: Option<RequestId>,
    pub(super) version: ProtocolVersion,
    pub(super) target: CallTarget,
    pub(super) recording: RequestRecording,
    pub(super) caller: Caller,
    /// The HTTP request, whose response can contain a challenge.
    #[cfg(feature = "http")]
    pub(super) http_request: Option<Arc<HttpParts>>,
}

/// A call's outcome.
pub(super) enum CallOutcome {
    Output(Output),
    Panicked(String),
    TimedOut(Duration),
    /// The round has ended, and its open questions are sent to the client.
    Input(Box<RoundEnd>),
}

impl CallFinisher {
    /// Ends the call by appending its response as a single message.
    pub(super) fn respond(
        &mut self,
        mut outcome: CallOutcome,
        out: &mut Vec<u8>,
    ) -> WrittenResponse {
        let start = out.len();
        let mut ended = outcome.ended();
        let is_question = matches!(outcome, CallOutcome::Input(_));
        let write = || spawn::catch(|| self.write_rewritten(&mut outcome, out));
        let (mut error, mut shared) = match self.recording.within(write) {
            Ok(Ok(shared)) => (None, shared),
            Ok(Err(error)) => (Some(error), None),
            Err(panic) => {
                ended = RecordedOutcome::Panicked;
                (Some(self.panic_error(&panic)), None)
            }
        };
        if let Some(error) = &mut error {
            out.truncate(start);
            self.recording.within(|| self.translate(error));
            encode::error(out, self.id.as_ref(), error);
            ended = ended.with_error(error.code);
        }
        let missing = shared.as_ref().map_or(0, |shared| shared.1.len());
        let size = out.len().saturating_add(missing).saturating_sub(start);
        // `max_output` applies only to results; `limits.calls.max_result_bytes` applies to results and errors. Neither
        // applies to questions.
        if size > self.max_output() && !is_question {
            ended = self
                .replace_if_too_large(size, &mut error, out, start)
                .unwrap_or(ended);
            shared = None;
        }
        self.recording.end(ended);
        WrittenResponse {
            error: error.map(Box::new),
            shared,
        }
    }
}

impl CallOutcome {
    /// Returns the request's outcome as observers see it, assuming that the response is a result.
    fn ended(&self) -> RecordedOutcome {
        match self {
            Self::Output(Ok(CallOutput::Tool(result))) if result.is_error => {
                RecordedOutcome::ToolError
            }
            Self::Output(Ok(_)) => RecordedOutcome::Answered,
            Self::Output(Err(_)) => RecordedOutcome::ToolError,
            Self::Panicked(_) => RecordedOutcome::Panicked,
            Self::TimedOut(_) => RecordedOutcome::TimedOut,
            Self::Input(_) => RecordedOutcome::InputRequired,
        }
    }
}

impl CallFinisher {
    /// Returns the maximum duration of the call.
    pub(super) fn timeout(&self) -> Duration {
        let guards = self.target.guards();
        let timeout = guards.and_then(|guards| guards.timeout);
        timeout.unwrap_or(self.dispatcher.limits().calls.timeout)
    }

    /// Returns the maximum size of a result in bytes.
    pub(super) fn max_output(&self) -> usize {
        let most = self.dispatcher.limits().calls.max_result_bytes;
        let guards = self.target.guards();
        let Some((guards, max)) = guards.and_then(|guards| Some((guards, guards.max_output?)))
        else {
            return most;
        };
        // The size of such a result was compared with the limit before the id of the request was known.
        let id = if guards.fits_output {
            self.id.as_ref().map_or(0, |id| id.as_bytes().len())
        } else {
            0
        };
        max.saturating_add(id).min(most)
    }

    pub(super) fn response_context(&self) -> ResponseContext<'_> {
        ResponseContext {
            id: self.id.as_ref(),
            version: self.version,
            identity: self.dispatcher.identity(),
        }
    }

    /// Writes the result or returns the error, rewritten in either case.
    fn write_rewritten(
        &self,
        outcome: &mut CallOutcome,
        out: &mut Vec<u8>,
    ) -> Result<SharedText, ErrorObject> {
        self.write(outcome, out).map_err(|mut error| {
            match self.rewrite(ForModel::Error(&mut error)) {
                Ok(()) => error,
                Err(failure) => failure,
            }
        })
    }

    /// Applies the server's own changes to what a model is about to read.
    fn rewrite(&self, value: ForModel<'_>) -> Result<(), ErrorObject> {
        let rewritten = self.dispatcher.settings.rewrites.apply(value);
        rewritten.map_err(|cause| self.log_internal_error("an answer cannot be sent", &cause))
    }

    /// Writes the result of a tool if it matches the output schema.
    fn write_tool(
        &self,
        result: &mut CallToolResult,
        (tool, outputs): (&Tool, &OutputChecker),
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        let settings = &self.dispatcher.settings;
        self.rewrite(ForModel::Tool(result))?;
        if tool.output_schema.is_some() && settings.check_outputs {
            self.check_output(result, tool, outputs)?;
        }
        encode::tool_result(out, self.response_context(), result, outputs.root);
        Ok(())
    }

    #[inline(never)]
    fn check_output(
        &self,
        result: &CallToolResult,
        tool: &Tool,
        outputs: &OutputChecker,
    ) -> Result<(), ErrorObject> {
        let settings = &self.dispatcher.settings;
        let was_touched = !settings.rewrites.is_empty() || !settings.middleware.is_empty();
        match outputs.output_problem(tool, result, was_touched) {
            None => Ok(()),
            Some(problem) => {
                let what = "a result does not match its tool's output schema";
                Err(self.log_internal_error(what, &problem))
            }
        }
    }

    fn write_tool_error(&self, text: String, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let mut result = CallToolResult::error(text);
        self.rewrite(ForModel::Tool(&mut result))?;
        encode::tool_result(
            out,
            self.response_context(),
            &mut result,
            OutputRoot::Objects,
        );
        Ok(())
    }

    /// Writes the outcome, which must not be used afterward.
    fn write(
        &self,
        outcome: &mut CallOutcome,
        out: &mut Vec<u8>,
    ) -> Result<SharedText, ErrorObject> {
        // Nearly all responses take this path. The result is written in place because moving a result is expensive.
        if let CallOutcome::Output(Ok(CallOutput::Tool(result))) = outcome
            && let Some(tool) = self.target.tool()
        {
            return self.write_tool(result, tool, out).map(|()| None);
        }
        let written = match std::mem::replace(outcome, CallOutcome::Panicked(String::new())) {
            CallOutcome::Output(Ok(success)) => return self.write_success(success, out),
            CallOutcome::Output(Err(error)) => self.write_failure(error, out),
            CallOutcome::Panicked(panic) => Err(self.panic_error(&panic)),
            CallOutcome::Input(end) => self.write_input_required(&end, out),
            CallOutcome::TimedOut(limit) => self.write_timeout(limit, out),
        };
        written.map(|()| None)
    }

    /// Writes the open questions, along with the call's sealed journal.
    fn write_input_required(&self, end: &RoundEnd, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let limits = self.dispatcher.limits();
        if let Err(error) = end.check_rounds(limits.elicitation.max_rounds) {
            return self.write_failure(error, out);
        }
        let binding = self.binding(&end.arguments).digest();
        let seal = &self.dispatcher.settings.seal;
        let journal = end.journal.to_json();
        let state = seal.seal(&binding, &journal, seal::now());
        let state = state.ok_or_else(|| ErrorObject::internal("the state cannot be sealed"))?;
        // If the state is kept in this process, the client holds only a handle, so the limit must apply to the journal.
        let (size, max) = (
            state.len().max(journal.len()),
            limits.elicitation.max_state_bytes,
        );
        if size > max {
            let text = format!(
                "the state that this call keeps between two rounds is {size} characters long, but the maximum is {max}"
            );
            return self.write_failure(HandlerError::exposed(text), out);
        }
        let asked = end.open.iter();
        let asked = asked.map(|open| (open.identity.key.as_str(), open.method, &open.params));
        encode::input_required(out, self.response_context(), asked, &state);
        Ok(())
    }

    /// Returns the binding for this call's state.
    pub(super) fn binding<'a>(&'a self, arguments: &'a str) -> Binding<'a> {
        let called = self.target.kind_and_name();
        let called = called.and_then(|(kind, name)| Some((kind.method()?, &**name)));
        let (method, name) = called.unwrap_or_default();
        Binding {
            server: &self.dispatcher.identity().implementation().name,
            principal: self.caller.key(),
            method,
            name,
            arguments,
        }
    }

    fn write_success(
        &self,
        success: CallOutput,
        out: &mut Vec<u8>,
    ) -> Result<SharedText, ErrorObject> {
        match (success, &self.target) {
            (CallOutput::Prompt(mut result), CallTarget::Named(callable))
                if let ItemDetails::Prompt(prompt) = &callable.details =>
            {
                result.description = result.description.or_else(|| prompt.description.clone());
                self.rewrite(ForModel::Prompt(&mut result))?;
                encode::prompt_result(out, self.response_context(), result);
            }
            (CallOutput::Resource(result), CallTarget::Read(read)) => {
                let callable = &read.callable;
                let mut result = with_location(result, read.contents_uri(), callable.mime_type());
                self.rewrite(ForModel::Resource(&mut result))?;
                encode::resource_result(out, self.response_context(), result, callable.cache);
            }
            (CallOutput::Completion(candidates), CallTarget::Completion(completion)) => {
                let ranked = rank(&completion.partial, candidates);
                encode::completion(out, self.response_context(), &ranked);
            }
            (CallOutput::Extension(result), target) if target.accepts(&result, self.version) => {
                if let Some(members) = result.shared_members() {
                    let gap = encode::extension_result_with_gap(
                        out,
                        self.response_context(),
                        result.type_name(),
                        result.meta_entries(),
                        result.cache_hint(),
                    );
                    return Ok(Some(Box::new((gap, members))));
                }
                encode::extension_result(
                    out,
                    self.response_context(),
                    (result.type_name(), result.members()),
                    result.meta_entries(),
                    result.cache_hint(),
                );
            }
            (CallOutput::List(members), CallTarget::List(list)) => {
                encode::list(out, self.response_context(), &members, list.cache);
            }
            _ => {
                return Err(self.log_internal_error(
                    "a call failed",
                    &"the result has the wrong kind or type",
                ));
            }
        }
        Ok(None)
    }
}

/// A response that has been written.
#[derive(Default)]
pub struct WrittenResponse {
    /// The error that the response reports, so that a transport can also report it in other ways.
    pub error: Option<Box<ErrorObject>>,
    /// The text that is missing from the response.
    pub shared: SharedText,
}

/// Text that is omitted from a response to avoid copying it, and its position in the response buffer. All requests with
/// this answer share the text's bytes.
pub type SharedText = Option<Box<(TextGap, Bytes)>>;

impl WrittenResponse {
    /// Appends an error response to `out`. The response has no id if the request's id is unknown.
    pub fn of_error(
        out: &mut Vec<u8>,
        id: Option<&RequestId>,
        error: impl Into<Box<ErrorObject>>,
    ) -> Self {
        let error = error.into();
        encode::error(out, id, &error);
        Self {
            error: Some(error),
            shared: None,
        }
    }

    /// A response from which this text is missing.
    pub(super) fn with_gap(gap: TextGap, text: Bytes) -> Self {
        Self {
            error: None,
            shared: Some(Box::new((gap, text))),
        }
    }

    /// Adds the missing text to the response in `out`.
    pub fn complete(&mut self, out: &mut Vec<u8>) {
        if let Some(shared) = self.shared.take() {
            let (gap, text) = *shared;
            gap.fill(out, &text);
        }
    }
}

// Fills in the location of resource contents that do not specify one.

/// Fills in the URI and media type of contents without them. The definition's media type takes precedence over the
/// result's.
fn with_location(
    mut result: ReadResourceResult,
    uri: &str,
    mime_type: Option<&str>,
) -> ReadResourceResult {
    let mime_type = mime_type.or(result.default_mime_type());
    for contents in &mut result.contents {
        if contents.uri.is_empty() {
            contents.uri = Cow::Owned(uri.to_owned());
        }
        if contents.mime_type.is_none() {
            contents.mime_type = mime_type.map(|mime_type| Cow::Owned(mime_type.to_owned()));
        }
    }
    result
}

impl CallFinisher {
    /// Writes that the handler took longer than its limit.
    fn write_timeout(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
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
    fn write_failure(
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

    /// Reports invalid arguments: for a tool in a result, so that the model can correct them, and in all other cases as an
    /// error.
    fn write_faults(&self, faults: &[Fault], out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let text = describe_faults(faults);
        if self.target.tool().is_some() {
            return self.write_tool_error(text, out);
        }
        let faults = faults
            .iter()
            .map(|fault| serde_json::json!({ "pointer": fault.pointer, "message": fault.message }));
        let data = serde_json::json!({ "faults": faults.collect::<Vec<_>>() });
        Err(ErrorObject::invalid_params(text).with_data(data))
    }

    /// Logs a panic and returns the error for the client.
    fn panic_error(&self, panic: &str) -> ErrorObject {
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
    fn log_internal_error(&self, what: &str, cause: &dyn fmt::Display) -> ErrorObject {
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
        self.dispatcher.settings.observers.fail(&LoggedFailure {
            called: self.target.name(),
            what,
            cause,
            reference,
        });
    }

    /// Replaces an error's code if this protocol version does not allow handlers to use it.
    #[cold]
    fn translate(&self, error: &mut ErrorObject) {
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
    fn replace_if_too_large(
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

#[cfg(test)]
mod located_tests {
    use crate::dispatch::finish::*;
    use crate::handler::output::{IntoResourceResult, Json};
    use crate::types::ResourceContents;

    #[test]
    fn contents_without_a_uri_get_the_uri_that_was_read() {
        let mut result = ReadResourceResult::default();
        result.contents = vec![
            ResourceContents::text("", "a"),
            ResourceContents::text("b://b", "b").with_mime_type("x/y"),
        ];
        let result = with_location(result, "a://a", Some("text/plain"));
        let seen: Vec<_> = result
            .contents
            .iter()
            .map(|c| (&*c.uri, c.mime_type.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [("a://a", Some("text/plain")), ("b://b", Some("x/y"))]
        );
    }

    #[test]
    fn the_media_type_of_the_definition_comes_before_that_of_json() {
        for (definition, expected) in [
            (None, "application/json"),
            (Some("application/geo+json"), "application/geo+json"),
        ] {
            let result = Json([1]).into_resource_result().unwrap();
            let result = with_location(result, "a://a", definition);
            assert_eq!(result.contents[0].mime_type.as_deref(), Some(expected));
        }
    }
}
