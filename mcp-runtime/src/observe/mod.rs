//! What happens to requests, and who observes it: the log, operators and tests.
//!
//! An [`Observer`] is told of a server's requests and failures, and a [`Meter`] of the numbers of the process. The runtime
//! has neither of its own: they come with what observes.

mod attributes;
mod caller_span;
mod meter;
mod observer;
mod origin;
mod recording;
mod refused;
mod trace_context;

pub(crate) use attributes::{CalledItem, RecordedOutcome, RequestAttributes};
pub(crate) use caller_span::{current_span, in_current_span};
#[allow(unused_imports, reason = "used by meters, which come with features")]
pub(crate) use meter::{Label, Meter, MetricKind, install_meter};
pub(crate) use meter::{
    Metric, MetricGuard, NOTIFICATION_GAPS, SESSIONS, SUBSCRIPTIONS, describe_metrics, is_metered,
};
#[allow(unused_imports, reason = "used by observers, which come with features")]
pub(crate) use observer::Observer;
pub(crate) use observer::{Failure, Observers, RequestObserver};
#[allow(unused_imports, reason = "used by HTTP")]
pub(crate) use origin::HttpOrigin;
pub(crate) use origin::{Origin, with_current_origin};
pub(crate) use recording::{RequestRecording, RequestTimer};
pub(crate) use refused::{RefusalKind, record_refusal};
pub use trace_context::TraceContext;
