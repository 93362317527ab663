//! The span in which a request arrives. All later work for the request runs in it, on any thread.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Returns the current span of this thread. Costs almost nothing without a subscriber.
#[inline]
pub(crate) fn current_span() -> Span {
    if LevelFilter::current() == LevelFilter::OFF {
        return Span::none();
    }
    Span::current()
}

/// Wraps work so that it runs in this thread's current span, on any thread.
pub(crate) fn in_current_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = current_span();
    move || span.in_scope(work)
}
