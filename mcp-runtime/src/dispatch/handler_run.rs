//! One run of a call's handler: polls it, catches its panics, ends its round and enforces its timeout.
//!
//! All calls run in this way, whether their response is awaited or they continue apart from their request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::context::{Context, current};
use crate::dispatch::blocking::CallPermitWaits;
use crate::dispatch::call_context::CallContext;
use crate::dispatch::finish::CallOutcome;
use crate::dispatch::rounds::RoundEnd;
use crate::dispatch::stream::{CallMessages, CallStream};
use crate::handler::call::Running;
use crate::observe::RequestRecording;
use crate::panics;

/// A handler's future, and the state that is dropped together with it.
pub(super) struct HandlerRun<M: CallMessages> {
    future: Option<Running>,
    scope: CallScope<M>,
    clock: CallClock,
    /// The permits for which the call is waiting, if it needs any.
    waits: Option<CallPermitWaits>,
}

/// A call's context, if its handler uses one.
pub(super) struct CallScope<M: CallMessages = CallStream>(pub(super) Option<Arc<CallContext<M>>>);

impl<M: CallMessages> CallScope<M> {
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
        Some(Context::new(Arc::<CallContext<M>>::clone(context)))
    }

    /// Ends the round if possible and returns its outcome. Called when the handler is pending.
    fn end_round(&self) -> Option<Box<RoundEnd>> {
        let context = self.0.as_ref();
        let context = context.filter(|context| !context.ending.is_committing())?;
        let end = context.asks.end_round()?;
        context.ending.set_asked();
        Some(end)
    }

    fn run_user_code<T>(&self, work: impl FnOnce() -> T) -> Result<T, String> {
        run_user_code(self.0.as_ref(), work)
    }
}

/// Runs user code as part of a call. Returns `Err` with the panic message if the code panics.
pub(super) fn run_user_code<M: CallMessages, T>(
    context: Option<&Arc<CallContext<M>>>,
    work: impl FnOnce() -> T,
) -> Result<T, String> {
    let context = context.filter(|_| current::is_forwarding());
    let call = context.map(|context| Context::new(Arc::<CallContext<M>>::clone(context)));
    panics::catch(|| current::within_call(call, work))
}

/// Runs work that belongs to the request, if the request is recorded here.
#[inline]
fn within<T>(recording: Option<&RequestRecording>, work: impl FnOnce() -> T) -> T {
    match recording {
        Some(recording) => recording.within(work),
        None => work(),
    }
}

impl<M: CallMessages> HandlerRun<M> {
    /// `waits` are the permits for which the call may have to wait, during which its clock is stopped.
    pub(super) fn new(
        future: Running,
        waits: Option<CallPermitWaits>,
        scope: CallScope<M>,
    ) -> Self {
        Self {
            future: Some(future),
            scope,
            clock: CallClock::default(),
            waits,
        }
    }

    /// Polls the handler, and then its clock. `limit` returns the time that the handler has, if it is limited.
    #[inline]
    pub(super) fn poll(
        &mut self,
        recording: Option<&RequestRecording>,
        limit: impl FnOnce() -> Option<Duration>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        match self.poll_handler(recording, task) {
            Poll::Pending if self.future.is_some() => self.poll_clock(limit(), task),
            polled => polled,
        }
    }

    /// Polls only the handler, for a first poll whose `task` might not have a waker. Runs that end on their first poll
    /// therefore do not need a timer.
    pub(super) fn poll_handler(
        &mut self,
        recording: Option<&RequestRecording>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        // A run is never polled again after it has ended.
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        if let Some(context) = &self.scope.0 {
            context.asks.register(task);
        }
        let poll = || self.scope.run_user_code(|| future.as_mut().poll(task));
        match within(recording, poll) {
            Ok(Poll::Ready(output)) => {
                let Some(context) = self.scope.with_deferred() else {
                    return Poll::Ready(CallOutcome::Output(output));
                };
                self.future = Some(Box::pin(async move { context.commit(output).await }));
                return self.poll_handler(recording, task);
            }
            Err(panic) => return Poll::Ready(CallOutcome::Panicked(panic)),
            Ok(Poll::Pending) => {}
        }
        match self.scope.end_round() {
            Some(end) => Poll::Ready(CallOutcome::Input(end)),
            None => Poll::Pending,
        }
    }

    fn poll_clock(
        &mut self,
        limit: Option<Duration>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        let Some(limit) = limit else {
            return Poll::Pending;
        };
        if self.is_waiting() {
            // Time spent waiting for the client or for a permit does not count toward the handler's timeout.
            self.clock.stop();
            return Poll::Pending;
        }
        self.clock.start(limit);
        let context = self.scope.0.as_ref();
        if context.is_some_and(|context| context.messages.is_inside_request()) {
            // The request enforces the timeout.
            return Poll::Pending;
        }
        self.clock.poll(task).map(|()| {
            if let Some(context) = context {
                context.cancel();
            }
            CallOutcome::TimedOut(limit)
        })
    }

    /// Returns `true` while the handler is waiting for the client or for a permit.
    fn is_waiting(&self) -> bool {
        let context = self.scope.0.as_ref();
        self.waits.as_ref().is_some_and(CallPermitWaits::is_waiting)
            || context.is_some_and(|context| context.asks.is_waiting())
    }

    /// Ends a run with this outcome by dropping its future and closing its context. The outcome becomes a panic if
    /// dropping the future panics.
    pub(super) fn finish(
        &mut self,
        outcome: &mut CallOutcome,
        recording: Option<&RequestRecording>,
    ) {
        if let Err(panic) = self.drop_future(recording)
            && matches!(outcome, CallOutcome::Output(_) | CallOutcome::Input(_))
        {
            *outcome = CallOutcome::Panicked(panic);
        }
        self.scope.close();
    }

    /// Cancels the run if it has not ended. Called when its owner is dropped.
    pub(super) fn abandon(&mut self, recording: Option<&RequestRecording>) {
        if self.future.is_none() {
            return;
        }
        if let Some(context) = &self.scope.0 {
            context.abandon();
        }
        if let Err(panic) = self.drop_future(recording) {
            tracing::error!(panic, "a cancelled handler panicked while being dropped");
        }
        if let Some(context) = &self.scope.0 {
            context.asks.close();
        }
    }

    fn drop_future(&mut self, recording: Option<&RequestRecording>) -> Result<(), String> {
        let future = self.future.take();
        within(recording, || self.scope.run_user_code(|| drop(future)))
    }
}

/// The clock of a call's timeout. It runs only while the handler itself is working.
#[derive(Default)]
pub(super) enum CallClock {
    #[default]
    NotStarted,
    /// Stopped, with this much time left.
    Stopped(Duration),
    Running(Pin<Box<Sleep>>),
}

impl CallClock {
    /// Stops the clock. The time that is left counts from the next start.
    pub(super) fn stop(&mut self) {
        if let Self::Running(sleep) = self {
            let left = sleep.deadline().saturating_duration_since(Instant::now());
            *self = Self::Stopped(left);
        }
    }

    /// Starts the clock if it is not running, with the time that is left of `limit`.
    pub(super) fn start(&mut self, limit: Duration) {
        let left = match self {
            Self::NotStarted => limit,
            Self::Stopped(left) => *left,
            Self::Running(_) => return,
        };
        *self = Self::Running(Box::pin(tokio::time::sleep(left)));
    }

    /// Polls a running clock, which is ready once no time is left.
    pub(super) fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        match self {
            Self::Running(sleep) => sleep.as_mut().poll(task),
            Self::NotStarted | Self::Stopped(_) => Poll::Pending,
        }
    }
}
