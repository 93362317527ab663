//! [`RequestRecording`] without the `telemetry` feature, which keeps only the span in which the request arrived.

use std::sync::Arc;
use std::time::SystemTime;

use tracing::Span;

use crate::observe::{RecordedOutcome, RequestAttributes, current_span};

/// Hooks for spans.
#[derive(Clone, Default)]
pub(crate) struct Hooks(());

/// A request that is not recorded, but runs in the span in which it arrived.
pub(crate) struct RequestRecording(Option<Box<Span>>);

impl RequestRecording {
    #[inline]
    pub(crate) fn begin<'a>(_: &Hooks, _: impl FnOnce() -> RequestAttributes<'a>) -> Self {
        let span = current_span();
        Self((!span.is_disabled()).then(|| Box::new(span)))
    }

    #[inline]
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_deref().map(Span::enter);
        work()
    }

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the `telemetry` feature")]
    pub(crate) fn end(&mut self, _: RecordedOutcome) {}
}

/// A stopped clock.
#[derive(Clone, Copy)]
pub(crate) struct RequestTimer;

impl RequestTimer {
    #[inline]
    pub(crate) fn start() -> Self {
        Self
    }

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the `telemetry` feature")]
    pub(crate) fn answered<'a>(
        self,
        _: &Hooks,
        _: Option<i32>,
        _: impl FnOnce() -> RequestAttributes<'a>,
    ) {
    }
}

/// A gauge that is not recorded.
pub(crate) struct GaugeGuard;

impl GaugeGuard {
    #[inline]
    pub(crate) fn session() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn subscription() -> Self {
        Self
    }
}

/// Task metrics that are not recorded.
#[derive(Clone, Default)]
pub(crate) struct TaskMetrics {}

impl TaskMetrics {
    #[inline]
    pub(crate) fn count_created(_: &str) {}

    #[inline]
    pub(crate) fn count_lapsed(_: &str) {}

    #[inline]
    pub(crate) fn count_ended(_: &str, _: &'static str) {}

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn enqueue(&self, _: &Arc<str>, _: SystemTime) -> AttemptRecording {
        AttemptRecording
    }
}

/// An attempt that is not recorded.
pub(crate) struct AttemptRecording;

impl AttemptRecording {
    #[inline]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn begin(&mut self) {}
}

#[inline]
pub(crate) fn count_notification_gap() {}

#[inline]
pub(crate) fn describe_metrics() {}
