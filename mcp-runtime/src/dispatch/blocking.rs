//! Waits for a permit, either to run a handler with limited concurrency or to block a thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::dispatch::Dispatcher;
use crate::handler::call::{Blocking, Output};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::observe;
use crate::panics;
use crate::protocol::errors;
use crate::registry::{CallPermit, CallPermits};

/// The number of permits for which a call is waiting. The call's timeout is paused during the wait.
#[derive(Clone, Debug, Default)]
pub(super) struct CallPermitWaits(Arc<AtomicUsize>);

impl CallPermitWaits {
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Waits for a permit to call `what`.
    pub(super) async fn acquire(
        &self,
        permits: &CallPermits,
        max_waiting: usize,
        what: &str,
    ) -> Result<CallPermit, HandlerError> {
        let entered = self.count_wait(permits.acquire(max_waiting)).await;
        entered.ok_or_else(|| {
            let error = errors::too_many_at_once(what, errors::RETRY_AFTER);
            HandlerError(HandlerErrorRepr::Busy(error))
        })
    }

    async fn count_wait<T>(&self, waiting: impl Future<Output = T>) -> T {
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

/// Runs blocking work on a separate thread once a permit is available. Because a thread cannot be cancelled, abandoned
/// work runs to completion and holds its permit and `held` until then.
pub(super) async fn run_blocking(
    dispatcher: Arc<Dispatcher>,
    work: Blocking,
    waits: CallPermitWaits,
    held: Option<CallPermit>,
) -> Output {
    let max = dispatcher.limits().calls.max_blocking_queued;
    let permit = waits.acquire(&dispatcher.blocking, max, "calls that block a thread");
    let permit = permit.await?;
    let work = observe::in_current_span(work);
    let work = move || {
        // Catching the panic on this thread contains it even if the call was abandoned.
        let output = panics::catch(work);
        drop((permit, held));
        output
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(output)) => output,
        // Resumes the panic so that it is caught in the same place as all other handler panics.
        Ok(Err(panic)) => std::panic::resume_unwind(Box::new(panic)),
        Err(error) => Err(HandlerError::from(error)),
    }
}
