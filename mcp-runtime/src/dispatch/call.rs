//! A call under way, and what it comes to.
//!
//! Panics of user code end here, and so does the time a call may take. Dropping a [`RunningCall`] drops the handler's
//! future and tells clones of its context.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::context::{Context, Outbound, current};
use crate::dispatch::ask::Asks;
use crate::dispatch::blocking::Waits;
use crate::dispatch::finish::{Finish, Outcome};
use crate::dispatch::stream::CallStream;
use crate::handler::call::Running;

pub(crate) use crate::dispatch::finish::Finished;

/// A call that was started.
pub(crate) enum Started {
    /// It is over already.
    Done(Finished),
    /// It has to be polled. Nothing was polled yet.
    Running(RunningCall),
}

/// A handler's future with everything that ends with it.
pub(crate) struct RunningCall {
    future: Option<Running>,
    finish: Option<Finish>,
    scope: Scope,
    limit: Duration,
    /// What of the limit is left while no clock runs.
    left: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Whether it waits for a place, if it may.
    waits: Option<Waits>,
}

/// What a call's context was made of, if one was made.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) context: Option<Context>,
    pub(super) stream: Option<Arc<CallStream>>,
    pub(super) asks: Option<Arc<Asks>>,
}

impl Scope {
    /// Sends what was held back, and closes the call's stream.
    pub(super) fn close(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.finish();
        }
        if let Some(asks) = self.asks.take() {
            asks.close();
        }
        self.context = None;
    }

    /// Runs user code as part of this call; `Err` holds the text of a panic.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, String> {
        run(self.stream.as_ref(), work)
    }
}

/// Runs user code as part of a call; `Err` holds the text of a panic.
pub(super) fn run<T>(
    stream: Option<&Arc<CallStream>>,
    work: impl FnOnce() -> T,
) -> Result<T, String> {
    let call = match stream {
        Some(stream) if current::is_forwarding() => Some(Arc::clone(stream) as Arc<dyn Outbound>),
        _ => None,
    };
    catch_unwind(AssertUnwindSafe(|| current::within(call, work)))
        .map_err(|panic| panic_text(&*panic))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is no text").to_owned()
}

impl RunningCall {
    pub(super) fn new(future: Running, finish: Finish, scope: Scope, limit: Duration) -> Self {
        Self {
            future: Some(future),
            finish: Some(finish),
            scope,
            limit,
            left: limit,
            deadline: None,
            waits: None,
        }
    }

    /// Its time stands still while it waits for a place.
    pub(super) fn with_waits(mut self, waits: Waits) -> Self {
        self.waits = Some(waits);
        self
    }

    /// Ends the call: its future is dropped, and its stream closed, before anybody writes the answer.
    fn finished(&mut self, outcome: Outcome) -> Poll<Finished> {
        let dropped = self.drop_future();
        let outcome = match (outcome, dropped) {
            (Outcome::Output(_) | Outcome::Input(_), Err(panic)) => Outcome::Panicked(panic),
            (outcome, _) => outcome,
        };
        self.scope.close();
        match self.finish.take() {
            Some(finish) => Poll::Ready(finish.with(outcome)),
            // Polled again after it was over, which no caller does; there is nothing to answer.
            None => Poll::Pending,
        }
    }

    /// Whether it waits for the client, or for a place.
    fn is_waiting(&self) -> bool {
        self.waits.as_ref().is_some_and(Waits::is_waiting)
            || self
                .scope
                .asks
                .as_ref()
                .is_some_and(|asks| asks.is_waiting())
    }

    fn drop_future(&mut self) -> Result<(), String> {
        let future = self.future.take();
        let drop = || self.scope.run(|| drop(future));
        match &self.finish {
            Some(finish) => finish.sight.within(drop),
            None => drop(),
        }
    }
}

impl Future for RunningCall {
    type Output = Finished;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Finished> {
        let this = &mut *self;
        let (Some(future), Some(finish)) = (&mut this.future, &this.finish) else {
            return Poll::Pending;
        };
        if let Some(asks) = &this.scope.asks {
            asks.register(task);
        }
        let poll = || this.scope.run(|| future.as_mut().poll(task));
        match finish.sight.within(poll) {
            Ok(Poll::Ready(output)) => return this.finished(Outcome::Output(output)),
            Err(panic) => return this.finished(Outcome::Panicked(panic)),
            Ok(Poll::Pending) => {}
        }
        if let Some(end) = this.scope.asks.as_ref().and_then(|asks| asks.round_over()) {
            return this.finished(Outcome::Input(end));
        }
        if this.is_waiting() {
            // Neither the client's time nor that of others is the handler's.
            if let Some(deadline) = this.deadline.take() {
                this.left = deadline
                    .deadline()
                    .saturating_duration_since(Instant::now());
            }
            return Poll::Pending;
        }
        let (limit, left) = (this.limit, this.left);
        let deadline = this
            .deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
        match deadline.as_mut().poll(task) {
            Poll::Ready(()) => {
                if let Some(context) = &this.scope.context {
                    context.cancel();
                }
                this.finished(Outcome::TimedOut(limit))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        if let Some(context) = self.scope.context.take() {
            context.cancel();
        }
        if let Err(panic) = self.drop_future() {
            tracing::error!(panic, "a cancelled handler panicked while it was dropped");
        }
        if let Some(asks) = self.scope.asks.take() {
            asks.close();
        }
    }
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningCall").finish_non_exhaustive()
    }
}
