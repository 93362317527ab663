//! Telemetry for operators: a span and metrics for each request, and the numbers of the process.
//!
//! Payloads are never recorded. The only recorded parts of a request are its method, its id, the registered name that it
//! calls, the URI that it reads, and its parent span.
//!
//! Names follow OpenTelemetry: semantic-conventions-genai, docs/gen-ai/mcp.md, "Server" and "Metric:
//! `mcp.server.operation.duration`" (status: development).

#![cfg(feature = "telemetry")]

mod metrics;
mod requests;

use std::time::Instant;

use tracing::Span;

use crate::observe::{Observer, RequestAttributes, RequestObserver, TraceContext, install_meter};
use crate::panics;
use crate::telemetry::metrics::{MetricsMeter, describe_request_metrics};
use crate::telemetry::requests::ObservedRequest;

/// A hook that is called with each new span and the parent that the caller specified.
type SpanHook = dyn Fn(&Span, Option<&TraceContext>) + Send + Sync;

/// The observer that every server has with the `telemetry` feature.
#[derive(Default)]
pub(crate) struct Telemetry {
    on_span: Option<Box<SpanHook>>,
}

impl Telemetry {
    /// Returns an observer that calls a hook right after the span for a request is created.
    pub(crate) fn with_hook(
        hook: impl Fn(&Span, Option<&TraceContext>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_span: Some(Box::new(hook)),
        }
    }

    fn link_caller(&self, span: &Span, parent: Option<&TraceContext>) {
        let Some(on_span) = &self.on_span else { return };
        if panics::catch(|| on_span(span, parent)).is_err() {
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
