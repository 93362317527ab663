//! The span in which a request arrives. All later work for the request runs in this span, regardless of the thread.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Returns this thread's current span. This costs almost nothing if there is no subscriber.
#[inline]
pub(crate) fn current_span() -> Span {
    if LevelFilter::current() == LevelFilter::OFF {
        return Span::none();
    }
    Span::current()
}

/// Wraps work so that it runs in this thread's current span even on another thread.
pub(crate) fn in_current_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = current_span();
    move || span.in_scope(work)
}
