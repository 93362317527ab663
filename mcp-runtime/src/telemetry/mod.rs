//! Telemetry for operators: a span for each request, metrics, and a log of refusals.
//!
//! With the `telemetry` feature, a [`RequestRecording`] accompanies each request. Without the feature, only the span in
//! which the request arrived is kept, and metrics are not recorded; refusals are still logged. Payloads are never
//! recorded. The only recorded parts of a request are its method, its id, the registered name that it calls, the URI
//! that it reads, and its parent span.
//!
//! Names follow OpenTelemetry: semantic-conventions-genai, docs/gen-ai/mcp.md, "Server" and "Metric:
//! `mcp.server.operation.duration`" (status: development).

#[cfg(feature = "telemetry")]
mod metrics;
#[cfg(not(feature = "telemetry"))]
mod off;
#[cfg(feature = "telemetry")]
mod recording;
#[cfg(feature = "telemetry")]
mod task_metrics;

#[cfg(feature = "telemetry")]
pub(crate) use metrics::{GaugeGuard, count_notification_gap, count_refusal, describe_metrics};
#[cfg(not(feature = "telemetry"))]
pub(crate) use off::{
    AttemptRecording, GaugeGuard, Hooks, RequestRecording, RequestTimer, TaskMetrics,
    count_notification_gap, describe_metrics,
};
#[cfg(feature = "telemetry")]
pub(crate) use recording::{Hooks, RequestRecording, RequestTimer, caller_trace};
#[cfg(feature = "telemetry")]
pub(crate) use task_metrics::{AttemptRecording, TaskMetrics};
