//! Those who observe a server.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use tracing::Span;
use tracing::level_filters::LevelFilter;

use crate::host::Instant;
use crate::jsonrpc::RequestId;
use crate::protocol::{Method, ProtocolVersion};

/// Is told what happens in a server. No method may block.
///
/// A message's origin is known ([`with_current_origin`](crate::observe::with_current_origin)) if the process has a meter, which an
/// observer can install when the server starts.
pub trait Observer: Any + Send + Sync {
    /// The server starts.
    fn start(&self) {}

    /// A request begins whose handler is about to run, or ends at once without a handler if `is_answered`.
    fn begin_request(
        &self,
        request: &RequestAttributes<'_>,
        began: Instant,
        is_answered: bool,
    ) -> Option<Box<dyn RequestObserver>> {
        let _ = (request, began, is_answered);
        None
    }

    /// A handler has panicked or failed in a way of which the client does not learn the cause.
    fn fail(&self, failure: &LoggedFailure<'_>) {
        let _ = failure;
    }
}

/// Observes a request in progress.
pub trait RequestObserver: Send + Sync {
    /// Returns the span in which the request's handler runs, or `None` for the span in which the request arrived.
    fn span(&self) -> Option<&Span>;

    /// The request ends. Called once; a request that is dropped before is cancelled.
    fn end(&mut self, outcome: RecordedOutcome);
}

/// A failure that is logged, because the client may not learn its cause.
#[allow(dead_code, reason = "read by observers, which come with features")]
pub struct LoggedFailure<'a> {
    /// The name of what was called.
    pub called: &'a str,
    pub what: &'a str,
    pub cause: &'a dyn fmt::Display,
    /// Identifies the failure in the log and in the client's error.
    pub reference: &'a str,
}

/// All observers of a server.
#[derive(Default)]
pub struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// Adds an observer, in place of one of the same type.
    #[allow(dead_code, reason = "used by observers, which come with features")]
    pub fn insert<T: Observer>(&mut self, observer: T) {
        self.0.retain(|other| !is::<T>(&**other));
        self.0.push(Arc::new(observer));
    }

    /// Adds an observer, unless there is one of the same type.
    #[allow(dead_code, reason = "used by observers, which come with features")]
    pub fn insert_default<T: Observer + Default>(&mut self) {
        if !self.0.iter().any(|other| is::<T>(&**other)) {
            self.insert(T::default());
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn Observer> {
        self.0.iter().map(|observer| &**observer)
    }

    pub fn start(&self) {
        self.iter().for_each(Observer::start);
    }

    pub(crate) fn fail(&self, failure: &LoggedFailure<'_>) {
        self.iter().for_each(|observer| observer.fail(failure));
    }
}

#[allow(dead_code, reason = "used by observers, which come with features")]
fn is<T: Observer>(observer: &dyn Observer) -> bool {
    (observer as &dyn Any).is::<T>()
}

/// What observers see of a request.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub struct RequestAttributes<'a> {
    /// `None` if the method belongs to an extension or does not exist, so that names made up by clients are not
    /// recorded.
    pub method: Option<Method>,
    pub id: &'a RequestId,
    pub version: Option<ProtocolVersion>,
    /// The raw JSON of `params._meta`.
    pub meta: Option<&'a str>,
    pub called: CalledItem<'a>,
}

/// A call's target, identified by its registered name.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub enum CalledItem<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    /// The URI of a resource, which a client may have made up.
    Resource(&'a str),
    /// A method of an extension. The request's `method` is `None`.
    Method(&'a str),
    Other,
}

/// A request's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "read by observers, which come with features")]
pub enum RecordedOutcome {
    Answered,
    /// Answered with a tool result that has `isError` set.
    ToolError,
    /// Answered with questions for the client, which is expected to repeat the request and include the answers.
    InputRequired,
    /// Answered with an error that has this code.
    Error(i32),
    TimedOut,
    Panicked,
    /// Ended without an answer, because it was cancelled or the client disconnected.
    Cancelled,
}

impl RecordedOutcome {
    /// Returns the outcome for a request whose response has been replaced by an error with this code.
    pub(crate) fn with_error(self, code: i32) -> Self {
        match self {
            Self::Panicked | Self::TimedOut => self,
            _ => Self::Error(code),
        }
    }
}

// --- A request in progress, as its observers see it, and the span in which its handler runs.

/// A request in progress. If this is dropped before the request has ended, the request counts as cancelled.
///
/// Of a request that nobody observes, only the span in which it arrived is kept, and without that, nothing.
pub struct RequestRecording(Option<Box<Recorded>>);

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
pub struct RequestTimer(Option<Instant>);

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

/// Returns this thread's current span. This costs almost nothing if there is no subscriber.
#[inline]
#[must_use]
pub fn current_span() -> Span {
    if LevelFilter::current() == LevelFilter::OFF {
        return Span::none();
    }
    Span::current()
}

/// Wraps work so that it runs in this thread's current span even on another thread.
pub fn in_current_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = current_span();
    move || span.in_scope(work)
}
