//! A request in progress, as its observers see it, and the span in which its handler runs.

use std::time::Instant;

use tracing::Span;

use crate::observe::{
    Observers, RecordedOutcome, RequestAttributes, RequestObserver, current_span,
};

/// A request in progress. If this is dropped before the request has ended, the request counts as cancelled.
///
/// Of a request that nobody observes, only the span in which it arrived is kept, and without that, nothing.
pub(crate) struct RequestRecording(Option<Box<Recorded>>);

struct Recorded {
    /// The span in which the request's handler runs.
    span: Span,
    observed: Vec<Box<dyn RequestObserver>>,
}

impl RequestRecording {
    /// Starts recording a request whose handler is about to run.
    #[inline]
    pub(crate) fn begin<'a>(
        observers: &Observers,
        attributes: impl FnOnce() -> RequestAttributes<'a>,
    ) -> Self {
        if observers.is_empty() {
            let span = current_span();
            let observed = Vec::new();
            return Self((!span.is_disabled()).then(|| Box::new(Recorded { span, observed })));
        }
        Self::begin_observed(observers, &attributes())
    }

    fn begin_observed(observers: &Observers, attributes: &RequestAttributes<'_>) -> Self {
        let began = Instant::now();
        let observed = observers.iter();
        let observed: Vec<_> = observed
            .filter_map(|observer| observer.begin_request(attributes, began, false))
            .collect();
        let span = observed.iter().find_map(|observed| observed.span());
        let span = span.cloned().unwrap_or_else(current_span);
        Self(Some(Box::new(Recorded { span, observed })))
    }

    /// Runs work that belongs to the request.
    #[inline]
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_ref().map(|recorded| recorded.span.enter());
        work()
    }

    /// Records the end of the request.
    #[inline]
    pub(crate) fn end(&mut self, ended: RecordedOutcome) {
        if let Some(recorded) = &mut self.0 {
            recorded.end(ended);
        }
    }
}

impl Recorded {
    fn end(&mut self, ended: RecordedOutcome) {
        for mut observed in std::mem::take(&mut self.observed) {
            observed.end(ended);
        }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.end(RecordedOutcome::Cancelled);
    }
}

/// Start time of a request that may be answered without a handler, if anybody observes it.
#[derive(Clone, Copy)]
pub(crate) struct RequestTimer(Option<Instant>);

impl RequestTimer {
    #[inline]
    pub(crate) fn start(observers: &Observers) -> Self {
        Self((!observers.is_empty()).then(Instant::now))
    }

    /// Records that the request was answered with an error that has this code, or with a result if the code is `None`.
    #[inline]
    pub(crate) fn answered<'a>(
        self,
        observers: &Observers,
        code: Option<i32>,
        attributes: impl FnOnce() -> RequestAttributes<'a>,
    ) {
        let Some(began) = self.0 else { return };
        let outcome = code.map_or(RecordedOutcome::Answered, RecordedOutcome::Error);
        let attributes = attributes();
        for observer in observers.iter() {
            if let Some(mut observed) = observer.begin_request(&attributes, began, true) {
                observed.end(outcome);
            }
        }
    }
}
