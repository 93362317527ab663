//! A running call: polls its handler and writes its response.
//!
//! Dropping a [`RunningCall`] drops the handler's future and cancels clones of its context.

use std::task::{Context as TaskContext, Poll};

use crate::dispatch::blocking::CallPermitWaits;
use crate::dispatch::finish::{CallFinisher, CallOutcome, WrittenResponse};
use crate::dispatch::handler_run::{CallScope, HandlerRun};
use crate::dispatch::stream::CallStream;
use crate::handler::call::Running;

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

/// A run of a handler, and the response that is written when it ends.
pub(crate) struct RunningCall {
    run: HandlerRun<CallStream>,
    finish: CallFinisher,
}

impl RunningCall {
    /// `waits` are the permits for which the call may have to wait, during which its clock is stopped.
    pub(super) fn new(
        future: Running,
        waits: Option<CallPermitWaits>,
        finish: CallFinisher,
        scope: CallScope,
    ) -> Self {
        let run = HandlerRun::new(future, waits, scope);
        Self { run, finish }
    }

    /// Polls the call, and appends its response to `out` once it has finished.
    pub(super) fn poll(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        let limit = || Some(self.finish.timeout());
        let polled = self.run.poll(Some(&self.finish.recording), limit, task);
        polled.map(|outcome| self.respond(outcome, out))
    }

    /// Polls the call for the first time. The caller must poll again immediately or drop the call, because `task` might
    /// not have a waker.
    pub(super) fn first_poll(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        let polled = self.run.poll_handler(Some(&self.finish.recording), task);
        polled.map(|outcome| self.respond(outcome, out))
    }

    /// Ends the run, and then writes the response.
    fn respond(&mut self, mut outcome: CallOutcome, out: &mut Vec<u8>) -> WrittenResponse {
        self.run.finish(&mut outcome, Some(&self.finish.recording));
        self.finish.respond(outcome, out)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.run.abandon(Some(&self.finish.recording));
    }
}
