//! A running call: polls its handler and writes its response.
//!
//! This module catches panics in user code and enforces timeouts. Dropping a [`RunningCall`] drops the handler's future
//! and cancels clones of its context.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use crate::context::{Context, current};
use crate::dispatch::blocking::CallPermitWaits;
use crate::dispatch::call_clock::CallClock;
use crate::dispatch::call_context::CallContext;
use crate::dispatch::finish::{CallFinisher, CallOutcome, WrittenResponse};
use crate::dispatch::rounds::RoundEnd;
use crate::handler::call::Running;
use crate::panics;

/// The progress of a call that has been started.
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the call's owner; boxing would cost an allocation"
)]
pub(crate) enum CallProgress {
    /// The response has been written.
    Answered(WrittenResponse),
    /// The call is still running and must be polled.
    Running(RunningCall),
}

/// A handler's future, and the state that is dropped together with it.
pub(crate) struct RunningCall {
    future: Option<Running>,
    finish: CallFinisher,
    scope: CallScope,
    clock: CallClock,
    /// The permits for which the call is waiting, if it needs any.
    waits: Option<CallPermitWaits>,
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

    /// Returns `true` if effects wait for the call's result.
    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        let context = self.0.as_ref();
        context.is_some_and(|context| context.ending.has_deferred())
    }

    /// Returns the context if effects wait for the call's result.
    #[inline]
    fn with_deferred(&self) -> Option<Context> {
        let context = self.0.as_ref().filter(|_| self.has_deferred())?;
        Some(Context::new(Arc::<CallContext>::clone(context)))
    }

    /// Ends the round if possible and returns its outcome. Called when the handler is pending.
    fn end_round(&self) -> Option<Box<RoundEnd>> {
        let context = self.0.as_ref();
        let context = context.filter(|context| !context.ending.is_committing())?;
        let end = context.asks.end_round()?;
        context.ending.set_asked();
        Some(end)
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
    /// `waits` are the permits for which the call may have to wait, during which its clock is stopped.
    pub(super) fn new(
        future: Running,
        waits: Option<CallPermitWaits>,
        finish: CallFinisher,
        scope: CallScope,
    ) -> Self {
        Self {
            future: Some(future),
            finish,
            scope,
            clock: CallClock::default(),
            waits,
        }
    }

    /// Ends the call by dropping its future and closing its stream, and then writes the response.
    fn finish_with(
        &mut self,
        mut outcome: CallOutcome,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        if let Err(panic) = self.drop_future()
            && matches!(outcome, CallOutcome::Output(_) | CallOutcome::Input(_))
        {
            outcome = CallOutcome::Panicked(panic);
        }
        self.scope.close();
        Poll::Ready(self.finish.respond(outcome, out))
    }

    /// Polls the call, and appends its response to `out` once it has finished.
    pub(super) fn poll(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        match self.poll_handler(task, out) {
            Poll::Pending if self.future.is_some() => self.poll_clock(task, out),
            polled => polled,
        }
    }

    /// Polls the call for the first time. The caller must poll again immediately or drop the call, because `task` might
    /// not have a waker. Calls that finish on the first poll therefore do not need a timer.
    pub(super) fn first_poll(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        self.poll_handler(task, out)
    }

    fn poll_handler(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        // The call is never polled again after the response has been written.
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        if let Some(context) = &self.scope.0 {
            context.asks.register(task);
        }
        let poll = || self.scope.run_user_code(|| future.as_mut().poll(task));
        match self.finish.recording.within(poll) {
            Ok(Poll::Ready(output)) => {
                let Some(context) = self.scope.with_deferred() else {
                    return self.finish_with(CallOutcome::Output(output), out);
                };
                self.future = Some(Box::pin(async move { context.commit(output).await }));
                return self.poll_handler(task, out);
            }
            Err(panic) => return self.finish_with(CallOutcome::Panicked(panic), out),
            Ok(Poll::Pending) => {}
        }
        match self.scope.end_round() {
            Some(end) => self.finish_with(CallOutcome::Input(end), out),
            None => Poll::Pending,
        }
    }

    /// Polls the timeout.
    fn poll_clock(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        if self.is_waiting() {
            // Time spent waiting for the client or for a permit does not count toward the handler's timeout.
            self.clock.stop();
            return Poll::Pending;
        }
        self.clock.start(self.finish.timeout());
        if self.clock.poll(task).is_pending() {
            return Poll::Pending;
        }
        if let Some(context) = &self.scope.0 {
            context.cancel();
        }
        self.finish_with(CallOutcome::TimedOut(self.finish.timeout()), out)
    }

    /// Returns `true` while the call is waiting for the client or for a permit.
    fn is_waiting(&self) -> bool {
        let context = self.scope.0.as_ref();
        self.waits.as_ref().is_some_and(CallPermitWaits::is_waiting)
            || context.is_some_and(|context| context.asks.is_waiting())
    }

    fn drop_future(&mut self) -> Result<(), String> {
        let future = self.future.take();
        let drop = || self.scope.run_user_code(|| drop(future));
        self.finish.recording.within(drop)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        if let Some(context) = &self.scope.0 {
            context.abandon();
        }
        if let Err(panic) = self.drop_future() {
            tracing::error!(panic, "a cancelled handler panicked while being dropped");
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
