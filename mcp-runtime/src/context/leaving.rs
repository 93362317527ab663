//! Lets a handler choose the point at which its call becomes a task.

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::cancellation::CancellationToken;
use crate::context::on_commit::is_inside_commit;
use crate::context::once::is_inside_once;
use crate::context::{
    CallEnding, CallHandle, Context, NotificationSender, QuestionTransport, RequestContext,
};

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
        if is_inside_once() || is_inside_commit() {
            tracing::error!(
                "`start_task` was called inside `once` or `on_commit`, where it does nothing"
            );
            return;
        }
        if let Some(start) = self.call().task_start() {
            start.cancel();
            std::future::pending::<()>().await;
        }
    }

    /// Returns a context for the same call with a token that is cancelled when the handler requests to continue as a
    /// task.
    pub(crate) fn with_task_start(&self, start: CancellationToken) -> Self {
        Self::new(Arc::new(StartHandle {
            call: self.clone(),
            start,
        }))
    }
}

/// A call that can continue as a task.
struct StartHandle {
    call: Context,
    start: CancellationToken,
}

impl CallHandle for StartHandle {
    fn request(&self) -> &RequestContext {
        self.call.call().request()
    }

    fn outbound(&self) -> &dyn NotificationSender {
        self.call.call().outbound()
    }

    fn asking(&self) -> &dyn QuestionTransport {
        self.call.call().asking()
    }

    fn ending(&self) -> &CallEnding {
        self.call.call().ending()
    }

    fn task_start(&self) -> Option<&CancellationToken> {
        Some(&self.start)
    }

    fn prepared(&self) -> Option<&Mutex<Vec<Box<dyn Any + Send>>>> {
        self.call.call().prepared()
    }
}
