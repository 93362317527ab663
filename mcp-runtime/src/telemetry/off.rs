//! [`RequestRecording`] without the `telemetry` feature. It keeps only the span in which the request arrived.

use tracing::Span;

use crate::telemetry::{RecordedOutcome, RequestAttributes, current_span};

/// Hooks for spans.
#[derive(Clone, Default)]
pub(crate) struct Hooks(());

/// A request that is not recorded but runs in the span in which it arrived.
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
    #[allow(clippy::unused_self, reason = "as with the feature")]
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
    #[allow(clippy::unused_self, reason = "as with the feature")]
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

#[inline]
pub(crate) fn describe_metrics() {}
