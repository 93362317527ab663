//! Metrics, recorded through the `metrics` crate. Every label has only a few possible values, and clients cannot
//! introduce new ones.

use std::time::Duration;

use ::metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use mcp_core::observe::{
    self, CalledItem, Meter, Metric, MetricKind, RecordedOutcome, RequestAttributes,
};
use mcp_protocol::{Method, ProtocolVersion};

const REQUESTS: &str = "mcp.server.requests";
const DURATION: &str = "mcp.server.operation.duration";
const ACTIVE_REQUESTS: &str = "mcp.server.active_requests";

/// Describes the metrics of requests to the recorder when a server starts.
pub(super) fn describe_request_metrics() {
    describe_counter!(REQUESTS, Unit::Count, "Finished requests");
    describe_histogram!(
        DURATION,
        Unit::Seconds,
        "Time from a request to its result, excluding queueing time"
    );
    describe_gauge!(
        ACTIVE_REQUESTS,
        Unit::Count,
        "Requests whose handlers are running"
    );
}

/// Records the numbers of the process.
pub(super) struct MetricsMeter;

fn owned(labels: &[observe::Label<'_>]) -> Vec<Label> {
    let labels = labels.iter();
    labels
        .map(|(name, value)| Label::new(*name, (*value).to_owned()))
        .collect()
}

impl Meter for MetricsMeter {
    fn describe(&self, metric: &Metric) {
        let (name, description) = (metric.name, metric.description);
        match metric.kind {
            MetricKind::Counter => describe_counter!(name, Unit::Count, description),
            MetricKind::Gauge => describe_gauge!(name, Unit::Count, description),
            MetricKind::Time => describe_gauge!(name, Unit::Seconds, description),
        }
    }

    fn add(&self, metric: &Metric, labels: &[observe::Label<'_>], change: i32) {
        match metric.kind {
            MetricKind::Counter => {
                let change = u64::try_from(change).unwrap_or_default();
                counter!(metric.name, owned(labels)).increment(change);
            }
            MetricKind::Gauge | MetricKind::Time => {
                let gauge = gauge!(metric.name, owned(labels));
                if change < 0 {
                    gauge.decrement(f64::from(change.unsigned_abs()));
                } else {
                    gauge.increment(f64::from(change));
                }
            }
        }
    }

    fn set(&self, metric: &Metric, labels: &[observe::Label<'_>], value: f64) {
        gauge!(metric.name, owned(labels)).set(value);
    }
}

/// Metrics for one request.
pub(super) struct RequestMetrics {
    labels: Vec<Label>,
    is_tool: bool,
    version: Option<ProtocolVersion>,
    transport: Option<&'static str>,
    active: Option<ActiveRequest>,
}

impl RequestMetrics {
    pub(super) fn begin(
        attributes: &RequestAttributes<'_>,
        transport: Option<&'static str>,
        is_active: bool,
    ) -> Self {
        let RequestAttributes {
            method,
            called,
            version,
            ..
        } = *attributes;
        let mut labels = Vec::with_capacity(8);
        let method = method.map_or("_OTHER", Method::as_str);
        labels.push(match called {
            CalledItem::Method(name) => Label::new("mcp.method.name", name.to_owned()),
            _ => Label::from_static_parts("mcp.method.name", method),
        });
        match called {
            CalledItem::Tool(name) => labels.push(Label::new("gen_ai.tool.name", name.to_owned())),
            CalledItem::Prompt(name) => {
                labels.push(Label::new("gen_ai.prompt.name", name.to_owned()));
            }
            CalledItem::Resource(_) | CalledItem::Method(_) | CalledItem::Other => {}
        }
        Self {
            labels,
            is_tool: matches!(called, CalledItem::Tool(_)),
            version,
            transport,
            active: is_active.then(ActiveRequest::begin),
        }
    }

    /// Records the end of a request. `error` and `code` are the same as in the span.
    pub(super) fn end(
        &mut self,
        ended: RecordedOutcome,
        took: Duration,
        error: Option<&str>,
        code: Option<&str>,
    ) {
        self.active = None;
        let mut labels = self.labels.clone();
        labels.push(Label::from_static_parts("outcome", outcome_label(ended)));
        counter!(REQUESTS, labels).increment(1);
        let mut labels = std::mem::take(&mut self.labels);
        let mut add = |key: &'static str, value: Option<&str>| {
            labels.extend(value.map(|value| Label::new(key, value.to_owned())));
        };
        add("error.type", error);
        add("rpc.response.status_code", code);
        let mut add = |key: &'static str, value: Option<&'static str>| {
            labels.extend(value.map(|value| Label::from_static_parts(key, value)));
        };
        add(
            "gen_ai.operation.name",
            self.is_tool.then_some("execute_tool"),
        );
        add(
            "mcp.protocol.version",
            self.version.map(ProtocolVersion::as_str),
        );
        add("network.transport", self.transport);
        histogram!(DURATION, labels).record(took.as_secs_f64());
    }
}

fn outcome_label(ended: RecordedOutcome) -> &'static str {
    match ended {
        RecordedOutcome::Answered => "ok",
        RecordedOutcome::ToolError => "tool_error",
        RecordedOutcome::InputRequired => "input_required",
        RecordedOutcome::Error(_) => "error",
        RecordedOutcome::TimedOut => "timed_out",
        RecordedOutcome::Panicked => "panicked",
        RecordedOutcome::Cancelled => "cancelled",
    }
}

/// Counts a request while its handler runs.
struct ActiveRequest;

impl ActiveRequest {
    fn begin() -> Self {
        gauge!(ACTIVE_REQUESTS).increment(1.0);
        Self
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        gauge!(ACTIVE_REQUESTS).decrement(1.0);
    }
}
