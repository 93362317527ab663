//! Reports operations to operators, with a span and a metric for each, and the availability of Redis. Payloads are never
//! recorded. Names follow OpenTelemetry: semantic-conventions, docs/db/database-metrics.md and docs/db/redis.md.
//!
//! Without the `telemetry` feature, there are only spans.

use std::time::Duration;

use tracing::Span;

use crate::error::RedisError;

#[cfg(feature = "telemetry")]
const DURATION: &str = "db.client.operation.duration";
#[cfg(feature = "telemetry")]
const AVAILABLE: &str = "mcp.server.backend_available";

/// Creates the span of an operation, at level `DEBUG`.
pub(crate) fn span(operation: &'static str, address: &str) -> Span {
    tracing::debug_span!(
        "redis",
        otel.kind = "client",
        db.system.name = "redis",
        db.operation.name = "EVALSHA",
        db.stored_procedure.name = operation,
        server.address = address,
        error.type = tracing::field::Empty,
    )
}

/// Describes the metrics to the recorder.
pub(crate) fn describe() {
    #[cfg(feature = "telemetry")]
    {
        use metrics::{Unit, describe_gauge, describe_histogram};
        describe_histogram!(
            DURATION,
            Unit::Seconds,
            "Time from a call of a script to its reply"
        );
        describe_gauge!(
            AVAILABLE,
            Unit::Count,
            "1 if the backend is available, 0 while it fails"
        );
    }
}

/// Records the end of an operation, in its span as well.
#[cfg_attr(
    not(feature = "telemetry"),
    allow(unused_variables, reason = "only the span is recorded")
)]
pub(crate) fn record(
    span: &Span,
    operation: &'static str,
    took: Duration,
    error: Option<&RedisError>,
) {
    if let Some(error) = error {
        span.record("error.type", error.kind);
    }
    #[cfg(feature = "telemetry")]
    {
        use metrics::{Label, histogram};
        let label = Label::from_static_parts;
        let mut labels = vec![
            label("db.system.name", "redis"),
            label("db.operation.name", "EVALSHA"),
            label("db.stored_procedure.name", operation),
        ];
        labels.extend(error.map(|error| label("error.type", error.kind)));
        histogram!(DURATION, labels).record(took.as_secs_f64());
    }
}

#[cfg_attr(
    not(feature = "telemetry"),
    allow(unused_variables, reason = "nothing is recorded")
)]
pub(crate) fn record_available(partition: usize, is_available: bool) {
    #[cfg(feature = "telemetry")]
    {
        use metrics::{Label, gauge};
        let mut labels = vec![Label::from_static_parts("db.system.name", "redis")];
        if partition > 0 {
            labels.push(Label::new("mcp.task.partition", partition.to_string()));
        }
        gauge!(AVAILABLE, labels).set(f64::from(u8::from(is_available)));
    }
}
