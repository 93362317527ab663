//! Metrics, recorded through the `metrics` crate. Every label has only a few possible values, and clients cannot
//! introduce new ones.

use std::time::Duration;

use ::metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use crate::observe::{CalledItem, RecordedOutcome};
use crate::protocol::{Method, ProtocolVersion};
use crate::telemetry::task_metrics::describe_task_metrics;

const REQUESTS: &str = "mcp.server.requests";
const DURATION: &str = "mcp.server.operation.duration";
const ACTIVE_REQUESTS: &str = "mcp.server.active_requests";
const ACTIVE_SESSIONS: &str = "mcp.server.active_sessions";
const ACTIVE_SUBSCRIPTIONS: &str = "mcp.server.active_subscriptions";
const REFUSALS: &str = "mcp.server.refusals";
const GAPS: &str = "mcp.server.notification_gaps";

/// Describes each metric to the recorder when a server starts.
pub(crate) fn describe_metrics() {
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
    describe_gauge!(
        ACTIVE_SESSIONS,
        Unit::Count,
        "Initialized clients with active requests in this process"
    );
    describe_gauge!(
        ACTIVE_SUBSCRIPTIONS,
        Unit::Count,
        "Open `subscriptions/listen` requests"
    );
    describe_counter!(
        REFUSALS,
        Unit::Count,
        "Refused messages, connections and calls"
    );
    describe_counter!(
        GAPS,
        Unit::Count,
        "Times at which changes on other instances may have been missed, and clients were told that everything has changed"
    );
    describe_task_metrics();
}

pub(crate) fn count_notification_gap() {
    counter!(GAPS).increment(1);
}

/// Metrics for one request.
pub(super) struct RequestMetrics {
    labels: Vec<Label>,
    is_tool: bool,
    version: Option<ProtocolVersion>,
    transport: Option<&'static str>,
    active: Option<GaugeGuard>,
}

impl RequestMetrics {
    pub(super) fn begin(
        method: Option<Method>,
        called: CalledItem<'_>,
        version: Option<ProtocolVersion>,
        transport: Option<&'static str>,
        is_active: bool,
    ) -> Self {
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
            active: is_active.then(|| GaugeGuard::new(ACTIVE_REQUESTS)),
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

pub(crate) fn count_refusal(kind: &'static str) {
    counter!(REFUSALS, "kind" => kind).increment(1);
}

/// Increments a gauge when created and decrements it when dropped.
pub(crate) struct GaugeGuard(&'static str);

impl GaugeGuard {
    fn new(what: &'static str) -> Self {
        gauge!(what).increment(1.0);
        Self(what)
    }

    pub(crate) fn session() -> Self {
        Self::new(ACTIVE_SESSIONS)
    }

    pub(crate) fn subscription() -> Self {
        Self::new(ACTIVE_SUBSCRIPTIONS)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        gauge!(self.0).decrement(1.0);
    }
}
