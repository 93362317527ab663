//! A single run of a call that is separate from its request, and the handler's context in that run.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use serde_json::{Map, Value};

use crate::context::{
    CallEnding, CallHandle, Context, NotificationSender, Progress, QuestionTransport,
    RequestContext,
};
use crate::dispatch::ask::ClientQuestions;
use crate::dispatch::blocking::CallPermitWaits;
use crate::dispatch::call::run_user_code;
use crate::dispatch::call_clock::CallClock;
use crate::dispatch::finish::CallOutcome;
use crate::handler::background::WaitingRequest;
use crate::handler::call::Running;
use crate::panics;
use crate::telemetry::RequestRecording;
use crate::types::LoggingLevel;

/// The state behind a handler's context in a single run.
pub(super) struct DetachedContext {
    pub(super) request: RequestContext,
    pub(super) asks: ClientQuestions,
    pub(super) ending: CallEnding,
    pub(super) on_progress: Box<dyn Fn(&Progress) + Send + Sync>,
    /// The request that is waiting for the run, which receives the messages that the handler sends.
    pub(super) waiting: Option<WaitingRequest>,
}

impl DetachedContext {
    /// Returns the context of the request that is waiting for the run, if any.
    fn waiting(&self) -> Option<Context> {
        self.waiting.as_ref()?.context()
    }
}

impl CallHandle for DetachedContext {
    fn request(&self) -> &RequestContext {
        &self.request
    }

    fn outbound(&self) -> &dyn NotificationSender {
        self
    }

    fn asking(&self) -> &dyn QuestionTransport {
        &self.asks
    }

    fn ending(&self) -> &CallEnding {
        &self.ending
    }
}

impl NotificationSender for DetachedContext {
    fn progress(&self, progress: &Progress) {
        (self.on_progress)(progress);
        if let Some(request) = self.waiting() {
            request.outbound().progress(progress);
        }
    }

    fn accepts_level(&self, level: LoggingLevel) -> bool {
        self.waiting()
            .is_some_and(|request| request.outbound().accepts_level(level))
    }

    fn close_stream(&self) {
        if let Some(request) = self.waiting() {
            request.outbound().close_stream();
        }
    }

    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str) {
        if let Some(request) = self.waiting() {
            request.outbound().log(level, logger, data);
        }
    }

    fn extension(&self, method: &str, params: &Map<String, Value>) {
        if let Some(request) = self.waiting() {
            request.outbound().extension(method, params);
        }
    }
}

/// A single run of a call. Dropping it cancels the run.
pub(super) struct DetachedRun {
    pub(super) future: Option<Running>,
    pub(super) context: Arc<DetachedContext>,
    /// `None` once the run has ended.
    pub(super) recording: Option<RequestRecording>,
    pub(super) waiting: Option<WaitingRequest>,
    pub(super) waits: CallPermitWaits,
    pub(super) limit: Option<std::time::Duration>,
    pub(super) clock: CallClock,
}

impl DetachedRun {
    pub(super) fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<CallOutcome> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        self.context.asks.register(task);
        let is_awaited = self
            .waiting
            .as_ref()
            .is_some_and(|request| request.context().is_some());
        let mut poll = || {
            if is_awaited {
                // Polls the handler as part of the request.
                return panics::catch(|| future.as_mut().poll(task));
            }
            run_user_code(None, || future.as_mut().poll(task))
        };
        let polled = match &self.recording {
            Some(recording) => recording.within(poll),
            None => poll(),
        };
        match polled {
            Ok(Poll::Ready(output)) => return Poll::Ready(CallOutcome::Output(output)),
            Err(panic) => return Poll::Ready(CallOutcome::Panicked(panic)),
            Ok(Poll::Pending) => {}
        }
        if !self.context.ending.is_committing()
            && let Some(end) = self.context.asks.end_round()
        {
            self.context.ending.set_asked();
            return Poll::Ready(CallOutcome::Input(end));
        }
        let Some(limit) = self.limit else {
            return Poll::Pending;
        };
        // As in the foreground, the time spent waiting for a permit is not counted.
        if self.waits.is_waiting() {
            self.clock.stop();
            return Poll::Pending;
        }
        self.clock.start(limit);
        if is_awaited {
            // A waiting request enforces the timeout itself.
            return Poll::Pending;
        }
        self.clock.poll(task).map(|()| {
            self.context.request.cancel();
            CallOutcome::TimedOut(limit)
        })
    }

    pub(super) fn drop_future(&mut self) -> Result<(), String> {
        let future = self.future.take();
        let drop = || run_user_code(None, || drop(future));
        match &self.recording {
            Some(recording) => recording.within(drop),
            None => drop(),
        }
    }
}

impl Drop for DetachedRun {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        self.context.request.cancel();
        if let Err(panic) = self.drop_future() {
            tracing::error!(panic, "a cancelled handler panicked while being dropped");
        }
        self.context.asks.close();
    }
}
