//! Lets a handler choose the point at which its call becomes a task.

use std::future::{Future, poll_fn};
use std::task::Poll;

use crate::cancellation::CancellationToken;
use crate::context::Context;
use crate::handler::middleware::Call;

impl Context {
    /// Lets the rest of the call run as a task, if the tool has the `task(manual)` option and the client supports
    /// tasks. In all other calls, this method does nothing, so the same handler serves all clients.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[derive(Elicit)] struct City { city: String }
    /// # async fn survey(_: &str) -> Result<String> { Ok(String::new()) }
    /// /// Surveys a city.
    /// #[tool(task(manual))]
    /// async fn survey_city(ctx: Context) -> Result<String> {
    ///     let City { city } = ctx.elicit("Which city?").await?; // in the call itself
    ///     ctx.start_task().await;
    ///     survey(&city).await // in the task
    /// }
    /// ```
    ///
    /// The handler is dropped at this point and runs again from the beginning in the background. In that run, questions
    /// that have already been answered return immediately, as do [`once`](Self::once) results. Clients that use
    /// 2025-11-25 request tasks themselves, so their tasks always consist of the whole call.
    ///
    /// If work inside `once` is in progress elsewhere in the call, the call becomes a task when that work has ended.
    /// Inside `once` itself, this only logs an error, because the work would otherwise be dropped and run again.
    pub async fn start_task(&self) {
        self.leave_request("start_task").await;
    }
}

impl Call {
    /// Returns the call and a future that completes when the handler has called
    /// [`Context::start_task`](crate::Context::start_task) and no work inside [`Context::once`](crate::Context::once)
    /// is in progress. The handler then waits in `start_task` until it is dropped. The future must be polled in the
    /// same tokio task as the call, after the call.
    pub(super) fn until_task_starts(mut self) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let start = CancellationToken::default();
        let context = self.context().with_leaving(start.clone());
        self.set_context(context.clone());
        let starts = async move {
            start.cancelled().await;
            // The call's task is woken when such work ends.
            poll_fn(|_| {
                if context.asking().is_once_under_way() {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })
            .await;
        };
        (self, starts)
    }
}
