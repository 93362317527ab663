//! The span a request came in: whatever is run for it later, and elsewhere, is inside of that.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// The span that this thread is in. Costs next to nothing where nobody listens to any.
#[inline]
pub(crate) fn current_span() -> Span {
    if LevelFilter::current() == LevelFilter::OFF {
        return Span::none();
    }
    Span::current()
}

/// The same work, in the span that this thread is in, on whichever thread it runs.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = current_span();
    move || span.in_scope(work)
}
