//! Runs calls and collects their results.
//!
//! This module catches panics in user code and enforces timeouts. Dropping a [`RunningCall`] drops the handler's future
//! and cancels clones of its context.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::context::{Context, current};
use crate::dispatch::blocking::PermitWaits;
use crate::dispatch::call_context::CallContext;
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::handler::call::Running;
use crate::panics;

pub(crate) use crate::dispatch::finish::FinishedCall;

/// The progress of a call that has been started.
pub(crate) enum CallProgress<R = RunningCall, F = FinishedCall> {
    /// The call has finished.
    Done(F),
    /// The call is still running and must be polled.
    Running(R),
}

impl CallProgress {
    /// Polls a running call once; see [`RunningCall::first_poll`].
    #[cfg(feature = "http")]
    pub(crate) fn polled_once(self) -> Self {
        match self {
            Self::Running(mut running) => match running.first_poll() {
                Poll::Ready(finished) => Self::Done(finished),
                Poll::Pending => Self::Running(running),
            },
            done @ Self::Done(_) => done,
        }
    }
}

/// A handler's future and the state that is dropped along with it.
pub(crate) struct RunningCall {
    future: Option<Running>,
    finish: Option<CallFinisher>,
    scope: CallScope,
    limit: Duration,
    /// Time left until the timeout. Used while the clock is stopped.
    left: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    /// The permits that the call is waiting for, if it needs any.
    waits: Option<PermitWaits>,
}

/// A call's context, if its handler uses one.
pub(super) struct CallScope(pub(super) Option<Arc<CallContext>>);

impl CallScope {
    /// Sends held-back notifications and closes the call's stream.
    pub(super) fn close(&mut self) {
        if let Some(context) = self.0.take() {
            context.close();
        }
    }

    /// Runs user code as part of this call. Returns `Err` with the panic message if the code panics.
    pub(super) fn run_user_code<T>(&self, work: impl FnOnce() -> T) -> Result<T, String> {
        run_user_code(self.0.as_ref(), work)
    }
}

/// Runs user code as part of a call. Returns `Err` with the panic message if the code panics.
pub(super) fn run_user_code<T>(
    context: Option<&Arc<CallContext>>,
    work: impl FnOnce() -> T,
) -> Result<T, String> {
    let call = match context {
        Some(context) if current::is_forwarding() => {
            Some(Context::new(Arc::<CallContext>::clone(context)))
        }
        _ => None,
    };
    panics::catch(|| current::within_call(call, work))
}

impl RunningCall {
    pub(super) fn new(
        future: Running,
        finish: CallFinisher,
        scope: CallScope,
        limit: Duration,
    ) -> Self {
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

    /// Stops the call's clock whenever the call is waiting for a permit.
    pub(super) fn with_waits(mut self, waits: PermitWaits) -> Self {
        self.waits = Some(waits);
        self
    }

    /// Ends the call by dropping its future and closing its stream, so that both happen before the response is written.
    fn finish_with(&mut self, mut outcome: CallOutcome) -> Poll<FinishedCall> {
        if let Err(panic) = self.drop_future()
            && matches!(outcome, CallOutcome::Output(_) | CallOutcome::Input(_))
        {
            outcome = CallOutcome::Panicked(panic);
        }
        self.scope.close();
        match self.finish.take() {
            Some(finish) => Poll::Ready(finish.with_outcome(outcome)),
            // Unreachable in practice, because no caller polls again after the response has been returned.
            None => Poll::Pending,
        }
    }

    /// Polls the call for the first time without a waker. The caller must poll again immediately or drop the call.
    /// Calls that finish on the first poll therefore need no timer.
    pub(crate) fn first_poll(&mut self) -> Poll<FinishedCall> {
        self.poll_handler(&mut TaskContext::from_waker(Waker::noop()))
    }

    fn poll_handler(&mut self, task: &mut TaskContext<'_>) -> Poll<FinishedCall> {
        let (Some(future), Some(finish)) = (&mut self.future, &self.finish) else {
            return Poll::Pending;
        };
        if let Some(context) = &self.scope.0 {
            context.asks.register(task);
        }
        let poll = || self.scope.run_user_code(|| future.as_mut().poll(task));
        match finish.recording.within(poll) {
            Ok(Poll::Ready(output)) => return self.finish_with(CallOutcome::Output(output)),
            Err(panic) => return self.finish_with(CallOutcome::Panicked(panic)),
            Ok(Poll::Pending) => {}
        }
        match self
            .scope
            .0
            .as_ref()
            .and_then(|context| context.asks.end_round())
        {
            Some(end) => self.finish_with(CallOutcome::Input(end)),
            None => Poll::Pending,
        }
    }

    /// Polls the timeout. Its clock runs only while the handler itself is working.
    fn poll_clock(&mut self, task: &mut TaskContext<'_>) -> Poll<FinishedCall> {
        if self.is_waiting() {
            // Time spent waiting for the client or for a permit does not count towards the handler's timeout.
            if let Some(deadline) = self.deadline.take() {
                self.left = deadline
                    .deadline()
                    .saturating_duration_since(Instant::now());
            }
            return Poll::Pending;
        }
        let (limit, left) = (self.limit, self.left);
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
        if deadline.as_mut().poll(task).is_pending() {
            return Poll::Pending;
        }
        if let Some(context) = &self.scope.0 {
            context.cancel();
        }
        self.finish_with(CallOutcome::TimedOut(limit))
    }

    /// Returns `true` while the call is waiting for the client or for a permit.
    fn is_waiting(&self) -> bool {
        let context = self.scope.0.as_ref();
        self.waits.as_ref().is_some_and(PermitWaits::is_waiting)
            || context.is_some_and(|context| context.asks.is_waiting())
    }

    fn drop_future(&mut self) -> Result<(), String> {
        let future = self.future.take();
        let drop = || self.scope.run_user_code(|| drop(future));
        match &self.finish {
            Some(finish) => finish.recording.within(drop),
            None => drop(),
        }
    }
}

impl Future for RunningCall {
    type Output = FinishedCall;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<FinishedCall> {
        match self.poll_handler(task) {
            Poll::Ready(finished) => Poll::Ready(finished),
            Poll::Pending if self.future.is_none() => Poll::Pending,
            Poll::Pending => self.poll_clock(task),
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        if let Some(context) = &self.scope.0 {
            context.cancel();
        }
        if let Err(panic) = self.drop_future() {
            tracing::error!(panic, "a cancelled handler panicked while it was dropped");
        }
        if let Some(context) = &self.scope.0 {
            context.asks.close();
        }
    }
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningCall").finish_non_exhaustive()
    }
}
