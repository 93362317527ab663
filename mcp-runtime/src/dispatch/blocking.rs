//! Waiting for a place: among the calls of a handler that may run at once, or among the threads that may block.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::dispatch::Dispatcher;
use crate::handler::call::{Blocking, Output};
use crate::handler::tool_error::{Repr, ToolError};
use crate::panics;
use crate::protocol::errors;
use crate::registry::{Place, Places};
use crate::telemetry;

/// When somebody for whom there was no room may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often a call waits for a place just now. Its time does not run while it does.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<AtomicUsize>);

impl Waits {
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// A place for a call of `what`, once there is one.
    pub(super) async fn place(
        &self,
        places: &Places,
        most: usize,
        what: &str,
    ) -> Result<Place, ToolError> {
        let entered = self.during(places.enter(most)).await;
        entered.ok_or_else(|| ToolError(Repr::Busy(errors::too_many(what, RETRY_AFTER))))
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

/// Runs work that blocks on a thread made for that, when there is a place. A thread cannot be cancelled: work that was given
/// up runs to its end, and keeps its place and `held` until then.
pub(super) async fn on_a_thread(
    dispatcher: Arc<Dispatcher>,
    work: Blocking,
    waits: Waits,
    held: Option<Place>,
) -> Output {
    let most = dispatcher.limits().blocking_queued;
    let place = waits.place(&dispatcher.blocking, most, "calls that block a thread");
    let place = place.await?;
    let work = telemetry::carried(work);
    let work = move || {
        // What it panics with stays on this thread, also if nobody waits for it any more.
        let output = panics::catch(work);
        drop((place, held));
        output
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(output)) => output,
        // Goes on to where all panics of handlers end.
        Ok(Err(panic)) => std::panic::resume_unwind(Box::new(panic)),
        Err(error) => Err(ToolError::from(error)),
    }
}
