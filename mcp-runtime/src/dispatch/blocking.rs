//! Threads for handlers that block: a bounded number, and a bounded queue in front of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::dispatch::Dispatcher;
use crate::handler::call::{Blocking, Running};
use crate::handler::tool_error::ToolError;
use crate::protocol::errors;

/// Runs work that blocks on a thread made for that, when there is a place; also says when it got one. A thread cannot be
/// cancelled: work that was given up runs to its end and keeps its place until then.
pub(super) fn on_a_thread(
    dispatcher: &Dispatcher,
    work: Blocking,
) -> Result<(Running, Arc<AtomicBool>), ToolError> {
    let waiting = Waiting::enter(&dispatcher.blocked, dispatcher.limits().blocking_queued)?;
    let started = Arc::new(AtomicBool::new(false));
    let begin = Arc::clone(&started);
    let places = Arc::clone(&dispatcher.blocking);
    let future = Box::pin(async move {
        let place = places.acquire_owned().await.map_err(ToolError::from)?;
        drop(waiting);
        begin.store(true, Ordering::Relaxed);
        let work = move || {
            let output = work();
            drop(place);
            output
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                // Goes on to where all panics of handlers end.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => Err(ToolError::from(error)),
            },
        }
    });
    Ok((future, started))
}

/// One that waits for a place among the threads that may block.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn enter(waiting: &Arc<AtomicUsize>, most: usize) -> Result<Self, ToolError> {
        let entered = Self(Arc::clone(waiting));
        if waiting.fetch_add(1, Ordering::Relaxed) >= most.max(1) {
            let error = errors::too_many("calls that block a thread", Duration::from_secs(1));
            return Err(ToolError::protocol(error));
        }
        Ok(entered)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
