//! Exports traces and metrics by OTLP over HTTP. It is configured by OpenTelemetry's standard environment variables:
//! `OTEL_SERVICE_NAME`, and `OTEL_EXPORTER_OTLP_ENDPOINT`, which defaults to `http://localhost:4318`.

use std::error::Error;

use mcp_runtime::handler::TraceContext;
use metrics_exporter_otel::OpenTelemetryRecorder;
use opentelemetry::Context;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TracerProvider,
};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

/// Bucket bounds in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// What has to be stopped before the process ends, so that nothing is lost.
pub struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Starts exporting. Call this before the server starts.
    pub fn start() -> Result<Self, Box<dyn Error>> {
        let exporter = MetricExporter::builder().with_http().build()?;
        let metrics = SdkMeterProvider::builder()
            .with_periodic_exporter(exporter)
            .build();
        let recorder = OpenTelemetryRecorder::new(metrics.meter("mcp"));
        recorder.set_histogram_bounds(&"mcp.server.operation.duration".into(), BUCKETS.to_vec());
        metrics::set_global_recorder(recorder)?;

        let exporter = SpanExporter::builder().with_http().build()?;
        let traces = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .build();
        // The exporter's own requests must not be traced, or each export would cause another.
        let filter = EnvFilter::new("info,hyper_util=off,reqwest=off,opentelemetry=off");
        tracing_subscriber::registry()
            .with(filter)
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
            .with(tracing_opentelemetry::layer().with_tracer(traces.tracer("mcp")))
            .try_init()?;
        Ok(Self { traces, metrics })
    }

    /// Exports what is left.
    pub fn stop(&self) -> Result<(), Box<dyn Error>> {
        self.traces.shutdown()?;
        self.metrics.shutdown()?;
        Ok(())
    }
}

/// Makes a request's span a child of the caller's span. For `Server::on_span`.
pub fn link_to_caller(span: &Span, caller: Option<&TraceContext>) {
    let Some(caller) = caller else { return };
    let state = caller.tracestate().and_then(|state| state.parse().ok());
    let parent = SpanContext::new(
        TraceId::from_bytes(caller.trace_id().to_be_bytes()),
        SpanId::from_bytes(caller.parent_id().to_be_bytes()),
        TraceFlags::default().with_sampled(caller.is_sampled()),
        true,
        state.unwrap_or_default(),
    );
    // Fails only if the span is disabled.
    let _ = span.set_parent(Context::new().with_remote_span_context(parent));
}
