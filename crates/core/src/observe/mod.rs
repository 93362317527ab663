//! What happens to requests, and who observes it: the log, operators and tests.
//!
//! An [`Observer`] is told of a server's requests and failures, and a [`Meter`] of the numbers of the process. The
//! runtime has neither of its own: they come with what observes.

mod meter;
mod observer;
mod origin;

pub(crate) use meter::describe_again;
pub use meter::{
    Metric, MetricGuard, NOTIFICATION_GAPS, SESSIONS, SUBSCRIPTIONS, describe_metrics, is_metered,
};
pub use observer::{
    CalledItem, LoggedFailure, Observers, RecordedOutcome, RequestAttributes, RequestObserver,
    RequestRecording, RequestTimer, current_span, in_current_span,
};
pub use origin::TraceContext;
pub use origin::{Origin, RefusalKind, record_refusal, with_current_origin};

#[allow(unused_imports, reason = "used by meters, which come with features")]
pub use meter::{Label, Meter, MetricKind, install_meter};
#[allow(unused_imports, reason = "used by observers, which come with features")]
pub use observer::Observer;
#[allow(unused_imports, reason = "used by HTTP")]
pub use origin::HttpOrigin;
