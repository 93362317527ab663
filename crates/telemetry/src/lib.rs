//! Telemetry for operators: a span and metrics for each request, and the numbers of the process.
//!
//! Payloads are never recorded. The only recorded parts of a request are its method, its id, the registered name that
//! it calls, the URI that it reads, and its parent span.
//!
//! Names follow OpenTelemetry: semantic-conventions-genai, docs/gen-ai/mcp.md, "Server" and "Metric:
//! `mcp.server.operation.duration`" (status: development).
//!
//! **Internal to `mcp-runtime`.** Depend on that crate with its feature `telemetry`. Items in this crate may change or
//! disappear in any release, including patch releases.
#![forbid(unsafe_code)]

mod metrics;

use mcp_core::host::Instant;
use mcp_core::observe::{
    CalledItem, Observer, Origin, RecordedOutcome, RequestAttributes, RequestObserver,
    TraceContext, install_meter, with_current_origin,
};
use mcp_core::spawn;
use mcp_protocol::jsonrpc::{ErrorObject, RequestId, unquote};
use mcp_protocol::{ProtocolVersion, errors};
use tracing::Span;
use tracing::field::Empty;

use crate::metrics::{MetricsMeter, RequestMetrics, describe_request_metrics};

/// A hook that is called with each new span and the parent that the caller specified.
type SpanHook = dyn Fn(&Span, Option<&TraceContext>) + Send + Sync;

/// The observer that every server has with the `telemetry` feature.
#[derive(Default)]
pub struct Telemetry {
    on_span: Option<Box<SpanHook>>,
}

impl Telemetry {
    /// Returns an observer that calls a hook right after the span for a request is created.
    pub fn with_hook(hook: impl Fn(&Span, Option<&TraceContext>) + Send + Sync + 'static) -> Self {
        Self {
            on_span: Some(Box::new(hook)),
        }
    }

    fn link_caller(&self, span: &Span, parent: Option<&TraceContext>) {
        let Some(on_span) = &self.on_span else { return };
        if spawn::catch(|| on_span(span, parent)).is_err() {
            tracing::error!("the `on_span` hook panicked");
        }
    }
}

impl Observer for Telemetry {
    fn start(&self) {
        install_meter(MetricsMeter);
        describe_request_metrics();
    }

    fn begin_request(
        &self,
        request: &RequestAttributes<'_>,
        began: Instant,
        is_answered: bool,
    ) -> Option<Box<dyn RequestObserver>> {
        Some(Box::new(ObservedRequest::begin(
            self,
            request,
            began,
            is_answered,
        )))
    }
}

// --- A request from the operator's point of view: the span in which its handler runs, and its metrics.

/// A request in progress: its span and its metrics.
struct ObservedRequest {
    span: Span,
    began: Instant,
    counted: RequestMetrics,
}

impl ObservedRequest {
    fn begin(
        telemetry: &Telemetry,
        attributes: &RequestAttributes<'_>,
        began: Instant,
        is_answered: bool,
    ) -> Self {
        with_current_origin(|origin| Self {
            span: new_request_span(telemetry, attributes, origin),
            began,
            counted: RequestMetrics::begin(attributes, origin.transport, !is_answered),
        })
    }
}

impl RequestObserver for ObservedRequest {
    /// If a filter disables the span, the handler runs in the one in which the request arrived.
    fn span(&self) -> Option<&Span> {
        (!self.span.is_disabled()).then_some(&self.span)
    }

    fn end(&mut self, ended: RecordedOutcome) {
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

fn new_request_span(
    telemetry: &Telemetry,
    attributes: &RequestAttributes<'_>,
    origin: &Origin,
) -> Span {
    let method = method_name(attributes);
    let (tool, prompt, uri) = match attributes.called {
        CalledItem::Tool(name) => (Some(name), None, None),
        CalledItem::Prompt(name) => (None, Some(name), None),
        CalledItem::Resource(uri) => (None, None, Some(uri)),
        CalledItem::Method(_) | CalledItem::Other => (None, None, None),
    };
    let http = origin.http.as_deref();
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
        mcp.session.id = http.and_then(|http| http.session).map(|digest| display(format!("{digest:016x}"))),
        mcp.resource.uri = uri,
        gen_ai.operation.name = tool.map(|_| "execute_tool"),
        gen_ai.tool.name = tool,
        gen_ai.prompt.name = prompt,
        jsonrpc.request.id = &*id_text(attributes.id),
        rpc.response.status_code = Empty,
        error.type = Empty,
        network.transport = origin.transport,
        network.protocol.name = http.map(|_| "http"),
        client.address = origin.peer().map(|peer| display(peer.ip())),
        client.port = origin.peer().map(|peer| peer.port()),
        trace_id = Empty,
    );
    if !span.is_disabled() {
        let parent = remote_parent(attributes.meta, origin);
        if let Some(parent) = &parent {
            span.record("trace_id", format_args!("{:032x}", parent.trace_id()));
        }
        telemetry.link_caller(&span, parent.as_ref());
    }
    span
}

/// Returns the parent span specified by the message or, failing that, by the transport.
fn remote_parent(meta: Option<&str>, origin: &Origin) -> Option<TraceContext> {
    meta.and_then(TraceContext::from_meta)
        .or_else(|| origin.http.as_ref()?.trace.clone())
}

/// Returns an id as text, without any quotes that it has on the wire.
fn id_text(id: &RequestId) -> std::borrow::Cow<'_, str> {
    let json = id.as_json();
    unquote(json).unwrap_or(json.into())
}
