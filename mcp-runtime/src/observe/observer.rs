//! Those who observe a server.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tracing::Span;

use crate::observe::{RecordedOutcome, RequestAttributes};

/// Is told what happens in a server. No method may block.
///
/// A message's origin is known ([`with_current_origin`](super::with_current_origin)) if the process has a meter, which an
/// observer can install when the server starts.
pub(crate) trait Observer: Any + Send + Sync {
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
    fn fail(&self, failure: &Failure<'_>) {
        let _ = failure;
    }
}

/// Observes a request in progress.
pub(crate) trait RequestObserver: Send + Sync {
    /// Returns the span in which the request's handler runs, or `None` for the span in which the request arrived.
    fn span(&self) -> Option<&Span>;

    /// The request ends. Called once; a request that is dropped before is cancelled.
    fn end(&mut self, outcome: RecordedOutcome);
}

/// A failure that is logged, because the client may not learn its cause.
#[allow(dead_code, reason = "read by observers, which come with features")]
pub(crate) struct Failure<'a> {
    /// The name of what was called.
    pub(crate) called: &'a str,
    pub(crate) what: &'a str,
    pub(crate) cause: &'a dyn fmt::Display,
    /// Identifies the failure in the log and in the client's error.
    pub(crate) reference: &'a str,
}

/// All observers of a server.
#[derive(Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// Adds an observer, in place of one of the same type.
    #[allow(dead_code, reason = "used by observers, which come with features")]
    pub(crate) fn insert<T: Observer>(&mut self, observer: T) {
        self.0.retain(|other| !is::<T>(&**other));
        self.0.push(Arc::new(observer));
    }

    /// Adds an observer, unless there is one of the same type.
    #[allow(dead_code, reason = "used by observers, which come with features")]
    pub(crate) fn insert_default<T: Observer + Default>(&mut self) {
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

    pub(crate) fn start(&self) {
        self.iter().for_each(Observer::start);
    }

    pub(crate) fn fail(&self, failure: &Failure<'_>) {
        self.iter().for_each(|observer| observer.fail(failure));
    }
}

#[allow(dead_code, reason = "used by observers, which come with features")]
fn is<T: Observer>(observer: &dyn Observer) -> bool {
    (observer as &dyn Any).is::<T>()
}
