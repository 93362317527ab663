//! Waiting for a permit: to run a handler with limited concurrency, or to block a thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::dispatch::Dispatcher;
use crate::handler::call::{Blocking, Output};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::panics;
use crate::protocol::errors;
use crate::registry::{CallPermit, CallPermits};
use crate::telemetry;

/// Delay after which a refused caller may retry.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The number of permits that a call is waiting for. The clock of its timeout stops while it waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<AtomicUsize>);

impl Waits {
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Waits for a permit for a call of `what`.
    pub(super) async fn permit(
        &self,
        permits: &CallPermits,
        max_waiting: usize,
        what: &str,
    ) -> Result<CallPermit, HandlerError> {
        let entered = self.during(permits.enter(max_waiting)).await;
        entered.ok_or_else(|| {
            HandlerError(HandlerErrorRepr::Busy(errors::too_many(what, RETRY_AFTER)))
        })
    }

    async fn during<T>(&self, waiting: impl Future<Output = T>) -> T {
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        let _leave = Leave(&self.0);
        waiting.await
    }
}

/// Runs blocking work on its own thread, once a permit is free. A thread cannot be cancelled: abandoned work runs to its end,
/// and keeps its permit and `held` until then.
pub(super) async fn on_a_thread(
    dispatcher: Arc<Dispatcher>,
    work: Blocking,
    waits: Waits,
    held: Option<CallPermit>,
) -> Output {
    let max = dispatcher.limits().calls.max_blocking_queued;
    let permit = waits.permit(&dispatcher.blocking, max, "calls that block a thread");
    let permit = permit.await?;
    let work = telemetry::carried(work);
    let work = move || {
        // The panic is caught on this thread, so that it is contained even if the call was abandoned.
        let output = panics::catch(work);
        drop((permit, held));
        output
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(output)) => output,
        // Resumed, to be caught where all panics of handlers are.
        Ok(Err(panic)) => std::panic::resume_unwind(Box::new(panic)),
        Err(error) => Err(HandlerError::from(error)),
    }
}
