//! A request from the operator's point of view: the span in which its handler runs, and its metrics.

use std::sync::Arc;
use std::time::Instant;

use tracing::Span;
use tracing::field::Empty;

use crate::jsonrpc::{ErrorObject, RequestId, unquote};
use crate::observe::{CalledItem, RecordedOutcome, RequestAttributes, TraceContext, current_span};
use crate::observe::{Origin, with_current_origin};
use crate::panics;
use crate::protocol::{ProtocolVersion, errors};
use crate::telemetry::metrics::RequestMetrics;

/// A hook that is called with each new span and the parent that the caller specified.
type SpanHook = dyn Fn(&Span, Option<&TraceContext>) + Send + Sync;

/// Hooks for spans.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_span: Option<Arc<SpanHook>>,
}

impl Hooks {
    fn link_caller(&self, span: &Span, parent: Option<&TraceContext>) {
        let Some(on_span) = &self.on_span else { return };
        if panics::catch(|| on_span(span, parent)).is_err() {
            tracing::error!("the `on_span` hook panicked");
        }
    }
}

/// A request in progress. If this is dropped before the request has ended, the request counts as cancelled.
pub(crate) struct RequestRecording {
    span: Span,
    /// The span in which the request arrived. `Some` only if a filter disables `span`.
    around: Option<Span>,
    began: Instant,
    counted: RequestMetrics,
    is_over: bool,
}

impl RequestRecording {
    /// Starts recording a request whose handler is about to run.
    pub(crate) fn begin<'a>(
        hooks: &Hooks,
        attributes: impl FnOnce() -> RequestAttributes<'a>,
    ) -> Self {
        Self::begin_at(hooks, &attributes(), Instant::now(), true)
    }

    fn begin_at(
        hooks: &Hooks,
        attributes: &RequestAttributes<'_>,
        began: Instant,
        is_active: bool,
    ) -> Self {
        with_current_origin(|origin| {
            let RequestAttributes {
                called, version, ..
            } = *attributes;
            let transport = origin.seen.transport;
            let span = new_request_span(hooks, attributes, origin);
            Self {
                around: span.is_disabled().then(current_span),
                span,
                began,
                counted: RequestMetrics::begin(
                    attributes.method,
                    called,
                    version,
                    transport,
                    is_active,
                ),
                is_over: false,
            }
        })
    }

    /// Runs work that belongs to the request.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.around.as_ref().unwrap_or(&self.span).in_scope(work)
    }

    /// Records the end of the request.
    pub(crate) fn end(&mut self, ended: RecordedOutcome) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let code = match ended {
            RecordedOutcome::Error(code) => Some(code),
            RecordedOutcome::Panicked => Some(ErrorObject::INTERNAL_ERROR),
            _ => None,
        };
        let code = code.map(|code| code.to_string());
        let error = match ended {
            RecordedOutcome::Answered | RecordedOutcome::InputRequired => None,
            RecordedOutcome::ToolError => Some("tool_error"),
            RecordedOutcome::TimedOut => Some("timeout"),
            RecordedOutcome::Cancelled => Some("cancelled"),
            RecordedOutcome::Error(code) if is_caller_error(code) => None,
            RecordedOutcome::Error(_) | RecordedOutcome::Panicked => code.as_deref(),
        };
        if let Some(code) = &code {
            self.span.record("rpc.response.status_code", &**code);
        }
        if let Some(error) = error {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
        let took = self.began.elapsed();
        self.counted.end(ended, took, error, code.as_deref());
    }
}

impl Drop for RequestRecording {
    fn drop(&mut self) {
        self.end(RecordedOutcome::Cancelled);
    }
}

/// Start time of a request that may be answered without a handler.
#[derive(Clone, Copy)]
pub(crate) struct RequestTimer(Instant);

impl RequestTimer {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Records that the request was answered with an error that has this code, or with a result if the code is `None`.
    pub(crate) fn answered<'a>(
        self,
        hooks: &Hooks,
        code: Option<i32>,
        attributes: impl FnOnce() -> RequestAttributes<'a>,
    ) {
        let mut recording = RequestRecording::begin_at(hooks, &attributes(), self.0, false);
        recording.end(code.map_or(RecordedOutcome::Answered, RecordedOutcome::Error));
    }
}

/// Returns `true` if the error is the caller's fault and therefore not a server failure.
fn is_caller_error(code: i32) -> bool {
    matches!(
        code,
        ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST
            | ErrorObject::METHOD_NOT_FOUND
            | ErrorObject::INVALID_PARAMS
            | errors::RESOURCE_NOT_FOUND
    )
}

fn method_name<'a>(attributes: &RequestAttributes<'a>) -> &'a str {
    match (attributes.method, attributes.called) {
        (Some(method), _) => method.as_str(),
        (None, CalledItem::Method(name)) => name,
        (None, _) => "_OTHER",
    }
}

fn new_request_span(hooks: &Hooks, attributes: &RequestAttributes<'_>, origin: &Origin) -> Span {
    let method = method_name(attributes);
    let (tool, prompt, uri) = match attributes.called {
        CalledItem::Tool(name) => (Some(name), None, None),
        CalledItem::Prompt(name) => (None, Some(name), None),
        CalledItem::Resource(uri) => (None, None, Some(uri)),
        CalledItem::Method(_) | CalledItem::Other => (None, None, None),
    };
    let seen = &origin.seen;
    let span = tracing::info_span!(
        "mcp.request",
        otel.name = match tool.or(prompt) {
            Some(target) => format!("{method} {target}"),
            None => method.to_owned(),
        },
        otel.kind = "server",
        otel.status_code = Empty,
        mcp.method.name = method,
        mcp.protocol.version = attributes.version.map(ProtocolVersion::as_str),
        mcp.session.id = seen.session.map(|digest| display(format!("{digest:016x}"))),
        mcp.resource.uri = uri,
        gen_ai.operation.name = tool.map(|_| "execute_tool"),
        gen_ai.tool.name = tool,
        gen_ai.prompt.name = prompt,
        jsonrpc.request.id = &*id_text(attributes.id),
        rpc.response.status_code = Empty,
        error.type = Empty,
        network.transport = seen.transport,
        network.protocol.name = seen.protocol,
        client.address = origin.peer().map(|peer| display(peer.ip())),
        client.port = origin.peer().map(|peer| peer.port()),
        trace_id = Empty,
    );
    if !span.is_disabled() {
        let parent = remote_parent(attributes.meta, origin);
        if let Some(parent) = &parent {
            span.record("trace_id", format_args!("{:032x}", parent.trace_id()));
        }
        hooks.link_caller(&span, parent.as_ref());
    }
    span
}

/// Returns the parent span specified by the message or, failing that, by the transport.
fn remote_parent(meta: Option<&str>, origin: &Origin) -> Option<TraceContext> {
    meta.and_then(TraceContext::from_meta)
        .or_else(|| origin.seen.trace.clone())
}

/// Returns the trace context that the caller specified for the request that this thread is processing.
pub(crate) fn caller_trace(meta: Option<&str>) -> Option<TraceContext> {
    with_current_origin(|origin| remote_parent(meta, origin))
}

/// Returns an id as text, without any quotes that it has on the wire.
fn id_text(id: &RequestId) -> std::borrow::Cow<'_, str> {
    let json = id.as_json();
    unquote(json).unwrap_or(json.into())
}
