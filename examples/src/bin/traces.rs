//! The spans of requests as part of their callers' traces, with OpenTelemetry. Needs the feature `otel` of the
//! examples.
//!
//! Each span is written to standard error when it ends. In production, use the exporter of `opentelemetry-otlp` and
//! install it with `with_batch_exporter`.

use std::io::Write as _;

use mcp_runtime::handler::TraceContext;
use mcp_runtime::prelude::*;
use opentelemetry::Context as OtelContext;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TracerProvider,
};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::prelude::*;

/// Adds two integers, slowly.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    let think = tracing::info_span!("think");
    think.in_scope(|| tracing::info!("thinking"));
    a.wrapping_add(b)
}

/// Converts the parent span that a caller specified to OpenTelemetry's types.
fn remote(trace: &TraceContext) -> OtelContext {
    let state = trace.tracestate().and_then(|state| state.parse().ok());
    OtelContext::new().with_remote_span_context(SpanContext::new(
        TraceId::from_bytes(trace.trace_id().to_be_bytes()),
        SpanId::from_bytes(trace.parent_id().to_be_bytes()),
        TraceFlags::default().with_sampled(trace.is_sampled()),
        true,
        state.unwrap_or_default(),
    ))
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(ToStandardError)
        .build();
    let tracer = provider.tracer("traces");
    tracing_subscriber::registry()
        .with(tracing_opentelemetry::layer().with_tracer(tracer))
        .init();

    let server = new_server!().on_span(|span, trace| {
        if let Some(trace) = trace
            && let Err(error) = span.set_parent(remote(trace))
        {
            tracing::warn!(%error, "a span has no parent");
        }
    });
    server.run().await?;
    Ok(provider.shutdown()?)
}

/// Writes a line for each span.
#[derive(Debug)]
struct ToStandardError;

impl SpanExporter for ToStandardError {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            writeln!(
                std::io::stderr(),
                "{} trace={} span={} parent={} kind={:?} status={:?}",
                span.name,
                span.span_context.trace_id(),
                span.span_context.span_id(),
                span.parent_span_id,
                span.span_kind,
                span.status,
            )
            .map_err(|error| OTelSdkError::InternalFailure(error.to_string()))?;
        }
        Ok(())
    }
}
